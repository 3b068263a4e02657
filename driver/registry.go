package driver

import (
	"fmt"
	"maps"
	"slices"

	"github.com/memkernel/memkernel/kernel/mem"
)

// Registry holds drivers by name. It is immutable after NewRegistry and safe for concurrent use.
type Registry struct{ byName map[string]Driver }

// NewRegistry registers drivers. It fails with an *mem.InvalidError if one is nil, has a name
// that mem.ValidDriverName refuses, or has the name of another.
func NewRegistry(drivers ...Driver) (*Registry, error) {
	byName := make(map[string]Driver, len(drivers))
	for i, d := range drivers {
		field := fmt.Sprintf("drivers[%d]", i)
		if d == nil {
			return nil, &mem.InvalidError{Field: field, Reason: "it is nil"}
		}
		name := d.Name()
		if !mem.ValidDriverName(name) {
			return nil, &mem.InvalidError{Field: field, Reason: "its name is not 1 to 64 of a-z, 0-9, '-' and '_'"}
		}
		if byName[name] != nil {
			return nil, &mem.InvalidError{Field: field, Reason: "the name " + name + " is taken"}
		}
		byName[name] = d
	}
	return &Registry{byName: byName}, nil
}

// Get returns the driver with that name.
func (r *Registry) Get(name string) (Driver, bool) {
	d, ok := r.byName[name]
	return d, ok
}

// Names returns the names in order.
func (r *Registry) Names() []string { return slices.Sorted(maps.Keys(r.byName)) }
