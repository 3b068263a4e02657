//go:build neverbuilt

package hidden

import _ "database/sql"
