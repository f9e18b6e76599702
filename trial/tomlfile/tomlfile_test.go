package tomlfile

import "testing"

// Goal: what is known is read, and a key that nobody knows is refused at every depth.
func TestUnknownKeysAreRefused(t *testing.T) {
	type inner struct {
		N int `toml:"n"`
	}
	var v struct {
		Name string `toml:"name"`
		In   inner  `toml:"in"`
	}
	if err := Decode([]byte("name = \"a\"\n[in]\nn = 3\n"), &v); err != nil || v.Name != "a" || v.In.N != 3 {
		t.Errorf("%+v, %v", v, err)
	}
	for _, text := range []string{"nam = \"a\"", "[in]\nm = 3", "[out]\n", "name = 3", "name"} {
		if err := Decode([]byte(text), &v); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
