package inspect_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"

	"lakebed/engine/bookkeeper/bookie/entrylog"
	"lakebed/engine/host"
	"lakebed/engine/record"
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// reseal changes an index block and makes its checksum good again: only a comparison with the records can tell.
func reseal(block []byte, change func(block []byte)) {
	block = block[:record.Align]
	change(block)
	binary.BigEndian.PutUint32(block[4:], crc32.Checksum(block[8:], castagnoli))
}

// copyLog makes a good log under an id that the table does not know.
func (b *bench) copyLog(from string, id entrylog.LogID) error {
	f, err := b.ledger.Open(from)
	if err != nil {
		return err
	}
	size, _ := f.Size()
	data := make([]byte, size)
	if _, err := host.ReadFull(f, data, 0); err != nil {
		return err
	}
	header, err := record.DecodeFileHeader(data, entrylog.Kind())
	if err != nil {
		return err
	}
	header.ID = uint64(id)
	copy(data, header.Encode())
	return errors.Join(f.Close(), create(b.ledger, entrylog.FileName(id), string(data)))
}
