package sidecar_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/memkernel/memkernel/driver"
	"github.com/memkernel/memkernel/driver/sidecar"
	"github.com/memkernel/memkernel/kernel/mem"
)

func TestConfig(t *testing.T) {
	t.Parallel()
	good := sidecar.Config{Name: "engine", URL: "https://engine.example/rank", Destination: mem.DestinationRemoteModel, Token: token}
	d, err := sidecar.New(good)
	require.NoError(t, err)
	require.Equal(t, "engine", d.Name())
	require.Equal(t, mem.DestinationRemoteModel, d.(driver.Sender).Destination())
	for _, shown := range []string{fmt.Sprintf("%v %+v %#v %s", good, good, good, good), fmt.Sprintf("%v %+v %#v", d, d, d)} {
		require.NotContains(t, shown, token)
	}
	for _, url := range []string{"http://localhost:1", "http://127.0.0.2:1/x", "http://[::1]:1"} {
		ok := good
		ok.URL = url
		_, err := sidecar.New(ok)
		require.NoError(t, err, url)
	}
	for field, changes := range map[string][]func(*sidecar.Config){
		"Name":        {func(c *sidecar.Config) { c.Name = "" }, func(c *sidecar.Config) { c.Name = "An Engine" }},
		"Destination": {func(c *sidecar.Config) { c.Destination = "" }, func(c *sidecar.Config) { c.Destination = mem.DestinationExport }},
		"URL": {
			func(c *sidecar.Config) { c.URL = "" },
			func(c *sidecar.Config) { c.URL = "engine.example" },
			func(c *sidecar.Config) { c.URL = "ftp://engine.example" },
			func(c *sidecar.Config) { c.URL = "https://" + token + "@engine.example" },
			func(c *sidecar.Config) { c.URL = "https://engine.example?key=" + token },
			func(c *sidecar.Config) { c.URL = "http://engine.example" },
			func(c *sidecar.Config) { c.URL = "http://localhost.example" },
			func(c *sidecar.Config) { c.URL, c.Destination = "http://10.0.0.1", mem.DestinationLocal },
		},
		"Token":            {func(c *sidecar.Config) { c.Token = token + "\n" }, func(c *sidecar.Config) { c.Token = "é" }},
		"WordCandidates":   {func(c *sidecar.Config) { c.WordCandidates = -2 }, func(c *sidecar.Config) { c.WordCandidates, c.VectorCandidates = -1, -1 }},
		"VectorCandidates": {func(c *sidecar.Config) { c.VectorCandidates = sidecar.MaxCandidates + 1 }},
		"MaxRequestBytes":  {func(c *sidecar.Config) { c.MaxRequestBytes = -1 }},
		"MaxResponseBytes": {func(c *sidecar.Config) { c.MaxResponseBytes = -1 }},
	} {
		for _, change := range changes {
			bad := good
			change(&bad)
			_, err := sidecar.New(bad)
			var invalid *mem.InvalidError
			require.ErrorAs(t, err, &invalid, field)
			require.Equal(t, "sidecar.Config."+field, invalid.Field)
			require.NotContains(t, err.Error(), strings.TrimSpace(token))
		}
	}
	plain := good
	plain.URL, plain.AllowPlainHTTP = "http://engine.example", true
	_, err = sidecar.New(plain)
	require.NoError(t, err)
	client := &http.Client{}
	plain.HTTPClient = client
	_, err = sidecar.New(plain)
	require.NoError(t, err)
	require.Nil(t, client.CheckRedirect, "the host's client is left as it was")
}
