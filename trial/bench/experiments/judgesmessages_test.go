package experiments

import (
	"testing"

	"lakebed/engine/commitlog"
	"lakebed/engine/commitlog/server"
	"lakebed/reports"
)

func TestCopiesOfSendersDecide(t *testing.T) {
	senders := func(read, mapped, sendfile, share []float64) *made {
		m := &made{}
		for _, size := range senderCopies() {
			for sender, cpu := range map[server.Sender][]float64{server.ReadWrite: read, server.MapWrite: mapped, server.SendFile: sendfile} {
				m.put(senderCell(size, cacheWarm, string(sender)), figureSendCPU, cpu...)
			}
			m.put(senderCell(size, cacheWarm, string(server.SendFile)), figureBytesSent, share...)
			m.put(senderCell(size, cacheWarm, bareSender), figureBytesSent, rounds(100)...)
		}
		return m
	}
	hold(t, judgeSenders,
		judged{"each copy costs", reports.Confirmed, senders(rounds(3), rounds(2), rounds(1), rounds(95))},
		judged{"mappings cost as much", reports.Refuted, senders(rounds(2), rounds(2.2), rounds(1), rounds(95))},
		judged{"sendfile is dearest", reports.Refuted, senders(rounds(3), rounds(2), rounds(4), rounds(95))},
		judged{"far from the bare loop", reports.Refuted, senders(rounds(3), rounds(2), rounds(1), rounds(70))},
		judged{"scattered", reports.Undecided, senders(scattered(2), rounds(2), rounds(1), rounds(95))},
		judged{"two rounds", reports.Undecided, senders([]float64{3, 3}, []float64{2, 2}, []float64{1, 1}, []float64{95, 95})},
	)
}

func TestHitsOfReadAheadDecide(t *testing.T) {
	ahead := func(hits, readers, random []float64) *made {
		m := &made{}
		m.put(aheadCell(commitlog.AdviceRandom, aheadDouble, patternSequential), figureHits, hits...)
		m.put(aheadCell(commitlog.AdviceRandom, aheadDouble, patternReaders), figureHits, readers...)
		m.put(aheadCell(commitlog.AdviceRandom, aheadDouble, patternRandom), figureReadAhead, random...)
		return m.put(aheadCell(commitlog.AdviceRandom, aheadNone, patternRandom), figureReadAhead, rounds(2)...)
	}
	hold(t, judgeReadAhead,
		judged{"served from memory", reports.Confirmed, ahead(rounds(0.99), rounds(0.95), rounds(2.5))},
		judged{"not served", reports.Refuted, ahead(rounds(0.8), rounds(0.95), rounds(2.5))},
		judged{"eight are not served", reports.Refuted, ahead(rounds(0.99), rounds(0.1), rounds(2.5))},
		judged{"random reading gains", reports.Refuted, ahead(rounds(0.99), rounds(0.95), rounds(1))},
		judged{"two rounds", reports.Undecided, ahead([]float64{1, 1}, []float64{1, 1}, []float64{2, 2})},
	)
}
