package metadata

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"lakebed/engine/bookkeeper/ledger"
	"lakebed/engine/protobuf"
)

// BookieRPC is the protocol of the endpoint that clients of a bookie connect to.
const BookieRPC = "bookie-rpc"

// bookieInfoBytesMax bounds what a bookie says of itself.
const bookieInfoBytesMax = 64 << 10

// BookieServiceInfo is what a bookie says of itself in its key: BookKeeper's BookieServiceInfoFormat, a protobuf message.
//
//	6 endpoint, repeated: 1 id, 2 port, 3 host, 4 protocol, 5 auth and 6 extensions, repeated
//	7 property, repeated: 1 key, 2 value
type BookieServiceInfo struct {
	Endpoints  []Endpoint
	Properties []Property // sorted by key
}

// Endpoint is where and how a bookie is reached.
type Endpoint struct {
	ID         string
	Port       int
	Host       string
	Protocol   string
	Auth       []string
	Extensions []string
}

// Property is anything else that a bookie says.
type Property struct{ Key, Value string }

const (
	fieldEndpoint protobuf.Number = 6
	fieldProperty protobuf.Number = 7

	fieldEndpointID protobuf.Number = 1
	fieldPort       protobuf.Number = 2
	fieldHost       protobuf.Number = 3
	fieldProtocol   protobuf.Number = 4
	fieldAuth       protobuf.Number = 5
	fieldExtension  protobuf.Number = 6

	fieldKey   protobuf.Number = 1
	fieldValue protobuf.Number = 2
)

// LegacyInfo is what an empty value says: that the bookie's id is its address.
func LegacyInfo(b ledger.BookieID) (BookieServiceInfo, error) {
	at := strings.LastIndexByte(string(b), ':')
	port, err := strconv.ParseUint(string(b[at+1:]), 10, 16)
	if at < 1 || err != nil {
		return BookieServiceInfo{}, fmt.Errorf("bookie id %q is no address, and the bookie says nothing else: %w", b, ErrContent)
	}
	return BookieServiceInfo{
		Endpoints: []Endpoint{{ID: "bookie", Port: int(port), Host: string(b[:at]), Protocol: BookieRPC}},
	}, nil
}

// Property returns the value of a property, "" if there is none.
func (i BookieServiceInfo) Property(key string) string {
	for _, p := range i.Properties {
		if p.Key == key {
			return p.Value
		}
	}
	return ""
}

// Append appends the message's bytes to b.
func (i BookieServiceInfo) Append(b []byte) []byte {
	var part []byte
	for _, e := range i.Endpoints {
		part = protobuf.AppendBytes(part[:0], fieldEndpointID, e.ID)
		part = protobuf.AppendInt(part, fieldPort, int64(e.Port))
		part = protobuf.AppendBytes(part, fieldHost, e.Host)
		part = protobuf.AppendBytes(part, fieldProtocol, e.Protocol)
		for _, auth := range e.Auth {
			part = protobuf.AppendBytes(part, fieldAuth, auth)
		}
		for _, extension := range e.Extensions {
			part = protobuf.AppendBytes(part, fieldExtension, extension)
		}
		b = protobuf.AppendBytes(b, fieldEndpoint, part)
	}
	for _, p := range i.Properties {
		part = protobuf.AppendBytes(part[:0], fieldKey, p.Key)
		b = protobuf.AppendBytes(b, fieldProperty, protobuf.AppendBytes(part, fieldValue, p.Value))
	}
	return b
}

// DecodeBookieInfo reads what the bookie says of itself; of an empty value, LegacyInfo.
func DecodeBookieInfo(b ledger.BookieID, data []byte) (BookieServiceInfo, error) {
	if len(data) == 0 {
		return LegacyInfo(b)
	}
	if len(data) > bookieInfoBytesMax {
		return BookieServiceInfo{}, fmt.Errorf("service info of bookie %s: %d bytes: %w", b, len(data), ErrContent)
	}
	var info BookieServiceInfo
	err := eachField(data, func(f protobuf.Field) error {
		if f.Number != fieldEndpoint && f.Number != fieldProperty {
			return nil
		}
		raw, err := f.Raw()
		if err != nil {
			return err
		}
		if f.Number == fieldEndpoint {
			e, err := decodeEndpoint(raw)
			info.Endpoints = append(info.Endpoints, e)
			return err
		}
		p, err := decodeProperty(raw)
		info.Properties = append(info.Properties, p)
		return err
	})
	if err != nil {
		return BookieServiceInfo{}, fmt.Errorf("service info of bookie %s: %w: %w", b, ErrContent, err)
	}
	info.Properties = sortProperties(info.Properties)
	return info, nil
}

// sortProperties sorts by key. Of a key that comes twice the last one counts, as protobuf has it for maps.
func sortProperties(all []Property) []Property {
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b Property) int { return strings.Compare(a.Key, b.Key) })
	return slices.CompactFunc(all, func(a, b Property) bool { return a.Key == b.Key })
}

func decodeEndpoint(b []byte) (Endpoint, error) {
	var e Endpoint
	err := eachField(b, func(f protobuf.Field) error {
		if f.Number == fieldPort {
			port, err := f.Int32()
			if err == nil && (port < 0 || port > math.MaxUint16) {
				err = fmt.Errorf("port %d", port)
			}
			e.Port = int(port)
			return err
		}
		if f.Number < fieldEndpointID || f.Number > fieldExtension {
			return nil
		}
		raw, err := f.Raw()
		text := string(raw)
		switch f.Number {
		case fieldEndpointID:
			e.ID = text
		case fieldHost:
			e.Host = text
		case fieldProtocol:
			e.Protocol = text
		case fieldAuth:
			e.Auth = append(e.Auth, text)
		case fieldExtension:
			e.Extensions = append(e.Extensions, text)
		}
		return err
	})
	return e, err
}

func decodeProperty(b []byte) (Property, error) {
	var p Property
	err := eachField(b, func(f protobuf.Field) error {
		if f.Number != fieldKey && f.Number != fieldValue {
			return nil
		}
		raw, err := f.Raw()
		if f.Number == fieldKey {
			p.Key = string(raw)
		} else {
			p.Value = string(raw)
		}
		return err
	})
	return p, err
}

// eachField visits the fields of a message.
func eachField(b []byte, visit func(protobuf.Field) error) error {
	for len(b) > 0 {
		f, rest, err := protobuf.Next(b)
		if err != nil {
			return err
		}
		if err := visit(f); err != nil {
			return err
		}
		b = rest
	}
	return nil
}
