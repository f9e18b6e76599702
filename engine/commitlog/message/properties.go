package message

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf16"
)

// The properties that the store itself reads.
const (
	PropertyTags      = "TAGS"
	PropertyKeys      = "KEYS"
	PropertyUniqueKey = "UNIQ_KEY"
)

// TagSeparator stands between the tags of a subscription: "paid || refused".
const TagSeparator = "||"

// KeySeparator stands between several keys in PropertyKeys.
const KeySeparator = ' '

const (
	nameEnd  = 0x01
	valueEnd = 0x02
)

// Property is one name with its value. Neither may hold the bytes 0x01 and 0x02.
type Property struct{ Name, Value string }

// AppendProperties appends properties in the form that a record holds.
func AppendProperties(dst []byte, properties ...Property) ([]byte, error) {
	for _, p := range properties {
		for _, text := range []string{p.Name, p.Value} {
			if bytes.ContainsAny([]byte(text), "\x01\x02") {
				return dst, fmt.Errorf("property %q with value %q holds a separator: %w", p.Name, p.Value, ErrIllegal)
			}
		}
		if p.Name == "" {
			return dst, fmt.Errorf("property without a name: %w", ErrIllegal)
		}
		dst = append(append(dst, p.Name...), nameEnd)
		dst = append(append(dst, p.Value...), valueEnd)
	}
	return dst, nil
}

// Property returns the value of a property, a part of m's bytes. Of two with one name it is the first. Not ok: there is
// none.
func (m *Message) Property(name string) (value []byte, ok bool) {
	for rest := m.Properties; len(rest) > 0; {
		var pair []byte
		pair, rest, _ = bytes.Cut(rest, []byte{valueEnd})
		if key, value, found := bytes.Cut(pair, []byte{nameEnd}); found && string(key) == name {
			return value, true
		}
	}
	return nil, false
}

// Tag is the message's tag, empty if it has none.
func (m *Message) Tag() []byte {
	tag, _ := m.Property(PropertyTags)
	return tag
}

// CheckTag refuses a tag that holds the separator: a subscription to it would be one to its parts, so that no consumer who asks for
// tags ever gets the message. Upstream stores it.
func CheckTag[T string | []byte](tag T) error {
	if strings.Contains(string(tag), TagSeparator) {
		return fmt.Errorf("tag %q holds %s, which separates the tags of a subscription: %w", string(tag), TagSeparator, ErrIllegal)
	}
	return nil
}

// HasTag compares the tag itself. Whoever selects by TagHash must ask: different tags may have one hash (R4-25).
func (m *Message) HasTag(tag string) bool { return string(m.Tag()) == tag }

// TagHash is the hash of a tag that a consume queue holds: that of a Java string, over its UTF-16 units, sign-extended. No
// tag has the hash 0.
func TagHash(tag []byte) int64 { return int64(javaHash(0, tag)) }

// javaHash goes on with the hash of a Java string behind what was hashed before.
func javaHash(h int32, text []byte) int32 {
	for _, r := range string(text) {
		if high, low := utf16.EncodeRune(r); r > 0xFFFF {
			h = 31*(31*h+high) + low
		} else {
			h = 31*h + r
		}
	}
	return h
}

// KeyHash is the hash of topic#key in the key index, which is never negative.
func KeyHash(topic, key []byte) int32 {
	h := javaHash(31*javaHash(0, topic)+'#', key)
	if h < 0 {
		h = -h
	}
	return max(h, 0) // the smallest integer has no opposite: upstream takes 0
}

// Keys calls f with each key under which the message is to be found: its unique key first, then those of the user.
func (m *Message) Keys(f func(key []byte)) {
	if unique, ok := m.Property(PropertyUniqueKey); ok && len(unique) > 0 {
		f(unique)
	}
	keys, _ := m.Property(PropertyKeys)
	for len(keys) > 0 {
		var key []byte
		key, keys, _ = bytes.Cut(keys, []byte{KeySeparator})
		if len(key) > 0 {
			f(key)
		}
	}
}
