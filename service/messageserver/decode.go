package messageserver

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"lakebed/engine/commitlog/message"
	"lakebed/service"
	"lakebed/service/messages"
	"lakebed/service/wire"
)

// decodeMessage decodes a JSON body.
func decodeMessage(body []byte) (m messages.NewMessage, err error) {
	if err := service.DecodeJSON(body, &m); err != nil {
		return m, err
	}
	if m.Body == nil {
		return m, wire.NewProblem(wire.Invalid, errors.New("message without a body"))
	}
	return m, nil
}

// properties encodes what a message has besides its body.
func properties(m *messages.NewMessage) ([]byte, error) {
	var all []message.Property
	if m.Tag != "" {
		all = append(all, message.Property{Name: message.PropertyTags, Value: m.Tag})
	}
	for _, key := range m.Keys {
		if key == "" || strings.ContainsRune(key, message.KeySeparator) {
			return nil, fmt.Errorf("key %q: want some text without spaces: %w", key, message.ErrIllegal)
		}
	}
	if len(m.Keys) > 0 {
		all = append(all, message.Property{Name: message.PropertyKeys, Value: strings.Join(m.Keys, string(message.KeySeparator))})
	}
	for _, name := range slices.Sorted(maps.Keys(m.Properties)) {
		if name == message.PropertyTags || name == message.PropertyKeys {
			return nil, fmt.Errorf("property %s: it is a member of the message: %w", name, message.ErrIllegal)
		}
		all = append(all, message.Property{Name: name, Value: m.Properties[name]})
	}
	return message.AppendProperties(nil, all...)
}

// comesFrom notes from where a message was sent, if that is an internet address.
func comesFrom(m *message.Message, peer string) {
	address, err := netip.ParseAddrPort(peer)
	if err != nil {
		return // a unix socket
	}
	ip := address.Addr().Unmap()
	m.BornHost.Port = int32(address.Port())
	if copy(m.BornHost.IP[:], ip.AsSlice()); ip.Is6() {
		m.SysFlag |= message.FlagBornHostIPv6
	}
}

// told is a stored message in JSON. Its parts are copies.
func told(m *message.Message) messages.Message {
	answer := messages.Message{
		Topic: string(m.Topic), Queue: m.Queue, Offset: m.QueueOffset, Physical: m.PhysicalOffset, Size: m.Size(),
		Body: append(wire.Bytes{}, m.Body...), Flag: m.Flag, BornMillis: m.BornTimestamp, BornHost: hostOf(m), StoredMillis: m.StoreTimestamp,
	}
	for rest := string(m.Properties); rest != ""; {
		var pair string
		pair, rest, _ = strings.Cut(rest, "\x02")
		name, value, _ := strings.Cut(pair, "\x01")
		switch {
		case name == message.PropertyTags:
			answer.Tag = value
		case name == message.PropertyKeys:
			answer.Keys = strings.FieldsFunc(value, func(r rune) bool { return r == message.KeySeparator }) // not at other spaces
		case name != "":
			if answer.Properties == nil {
				answer.Properties = map[string]string{}
			}
			answer.Properties[name] = value
		}
	}
	return answer
}

// hostOf is the address that a message was sent from; empty if there is none.
func hostOf(m *message.Message) string {
	if m.BornHost == (message.Address{}) {
		return ""
	}
	ip := netip.AddrFrom16(m.BornHost.IP)
	if m.SysFlag&message.FlagBornHostIPv6 == 0 {
		ip = netip.AddrFrom4([4]byte(m.BornHost.IP[:4]))
	}
	return netip.AddrPortFrom(ip, uint16(m.BornHost.Port)).String()
}
