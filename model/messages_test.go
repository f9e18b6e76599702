package model_test

import (
	"testing"

	"lakebed/model"
)

// messageWorld is a history in which nothing is wrong: two queues, a client each, a consumer, a look at the end.
func messageWorld() *model.MessageHistory {
	a, b := model.QueueID{Topic: "a"}, model.QueueID{Topic: "b", Queue: 1}
	h := &model.MessageHistory{Durable: true, Visible: true, Age: 50, Clocks: []model.SegmentClock{{At: 1, Time: 1000}, {At: 10, Time: 1020}}}
	h.Sends = []model.Send{
		{Client: 1, Call: 1, Return: 3, Queue: a, Tag: "x", Digest: 11, Outcome: model.OK, Offset: 0, Physical: 0, Stored: 1001},
		{Client: 2, Call: 2, Return: 4, Queue: b, Tag: "y", Digest: 21, Outcome: model.OK, Offset: 0, Physical: 100, Stored: 1002},
		{Client: 1, Call: 5, Return: 7, Queue: a, Tag: "y", Digest: 12, Outcome: model.OK, Offset: 1, Physical: 200, Stored: 1010},
		{Client: 1, Call: 8, Return: 10, Queue: a, Tag: "x", Digest: 13, Outcome: model.Unknown},
		{Client: 1, Call: 12, Return: 14, Queue: a, Tag: "x", Digest: 14, Outcome: model.Failed},
	}
	item := func(q model.QueueID, offset, physical int64, tag string, digest model.Digest) model.Pulled {
		stored := map[model.Digest]int64{11: 1001, 21: 1002, 12: 1010}[digest]
		return model.Pulled{Queue: q, Offset: offset, Physical: physical, Tag: tag, Digest: digest, Stored: stored}
	}
	h.Pulls = []model.Pull{
		{Client: 3, Call: 8, Return: 9, Queue: a, From: 0, Next: 2, High: 2, Items: []model.Pulled{item(a, 0, 0, "x", 11), item(a, 1, 200, "y", 12)}},
		{Client: 3, Call: 11, Return: 12, Queue: a, From: 0, Tag: "y", Next: 2, High: 2, Items: []model.Pulled{item(a, 1, 200, "y", 12)}},
		{Client: 4, Call: 20, Return: 21, Queue: a, From: 0, Next: 2, High: 2, Final: true, Items: []model.Pulled{item(a, 0, 0, "x", 11), item(a, 1, 200, "y", 12)}},
		{Client: 4, Call: 22, Return: 23, Queue: b, From: 0, Next: 1, High: 1, Final: true, Items: []model.Pulled{item(b, 0, 100, "y", 21)}},
	}
	h.Searches = []model.Search{
		{Client: 3, Call: 15, Return: 16, Queue: a, Time: 1001, Found: 0},
		{Client: 3, Call: 15, Return: 16, Queue: a, Time: 1002, Found: 1},
		{Client: 3, Call: 15, Return: 16, Queue: a, Time: 1011, Found: 2},
		{Client: 3, Call: 15, Return: 16, Queue: a, Time: 1009, Upper: true, Found: 0},
		{Client: 3, Call: 15, Return: 16, Queue: a, Time: 1010, Upper: true, Found: 1},
		{Client: 3, Call: 15, Return: 16, Queue: a, Time: 1, Upper: true, Found: 0},
		{Client: 3, Call: 5, Return: 16, Queue: a, Time: 1005, Found: 1},          // 12 may not have been there yet
		{Client: 4, Call: 24, Return: 25, Queue: a, Time: 1001, Found: 1, Low: 1}, // 11 was removed since it was looked for
		{Client: 4, Call: 24, Return: 25, Queue: a, Time: 1, Upper: true, Found: 1, Low: 1},
	}
	return h
}

// TestMessageCheckersAccuse histories that are wrong in one way each, and nobody else.
func TestMessageCheckersAccuse(t *testing.T) {
	if found := model.CheckMessages(messageWorld()); len(found) > 0 {
		t.Fatalf("a right history is accused: %+v", found)
	}
	for name, c := range map[string]struct {
		checker string
		spoil   func(h *model.MessageHistory)
	}{
		"a message of another queue is given": {model.CheckerForeign, func(h *model.MessageHistory) { h.Pulls[0].Items[0].Queue.Queue = 7 }},
		"a message went to another queue":     {model.CheckerForeign, func(h *model.MessageHistory) { h.Pulls[0].Items[0].Digest = 21 }},
		"a tag that was not asked for":        {model.CheckerForeign, func(h *model.MessageHistory) { h.Pulls[1].Tag = "x" }},
		"a tag that was not sent":             {model.CheckerForeign, func(h *model.MessageHistory) { h.Pulls[0].Items[0].Tag = "z" }},
		"a hole":                              {model.CheckerQueue, func(h *model.MessageHistory) { h.Pulls[0].From = -1 }},
		"backwards":                           {model.CheckerQueue, func(h *model.MessageHistory) { h.Pulls[1].From = 2 }},
		"a writer's messages change places":   {model.CheckerQueue, func(h *model.MessageHistory) { h.Sends[0].Physical = 300 }},
		"nobody sent it":                      {model.CheckerInvented, func(h *model.MessageHistory) { h.Pulls[0].Items[1].Digest = 99 }},
		"it was not sent yet":                 {model.CheckerInvented, func(h *model.MessageHistory) { h.Pulls[0].Return, h.Sends[2].Call = 4, 5 }},
		"it was refused": {model.CheckerInvented, func(h *model.MessageHistory) {
			h.Pulls[0].Items[1] = model.Pulled{Queue: h.Pulls[0].Queue, Offset: 1, Tag: "x", Digest: 14}
			h.Pulls[0].Return = 30
		}},
		"it lies elsewhere":               {model.CheckerPlace, func(h *model.MessageHistory) { h.Pulls[0].Items[1].Physical = 1 }},
		"an acknowledged message is lost": {model.CheckerLost, func(h *model.MessageHistory) { h.Pulls[2].Items = h.Pulls[2].Items[:1] }},
		"what was seen is gone": {model.CheckerVanished, func(h *model.MessageHistory) {
			h.Pulls[2].Items = h.Pulls[2].Items[:1]
			h.Sends[2].Outcome = model.Unknown
		}},
		"an offset changes its message":                   {model.CheckerContent, func(h *model.MessageHistory) { h.Sends[2].Outcome = model.Unknown; h.Pulls[2].Items[1].Digest = 13 }},
		"a message is there twice":                        {model.CheckerDuplicate, func(h *model.MessageHistory) { h.Sends[0].Outcome = model.Unknown; h.Pulls[2].Items[1].Digest = 11 }},
		"a tag's message is left out":                     {model.CheckerLeftOut, func(h *model.MessageHistory) { h.Pulls[1].Items = nil }},
		"an answer goes on too far":                       {model.CheckerLeftOut, func(h *model.MessageHistory) { h.Pulls[0].Next = 3 }},
		"a search finds an older message":                 {model.CheckerTime, func(h *model.MessageHistory) { h.Searches[1].Found = 0 }},
		"a search passes over a message":                  {model.CheckerTime, func(h *model.MessageHistory) { h.Searches[0].Found = 1 }},
		"a search stops before a message":                 {model.CheckerTime, func(h *model.MessageHistory) { h.Searches[4].Found = 0 }},
		"a search finds a younger message":                {model.CheckerTime, func(h *model.MessageHistory) { h.Searches[3].Found = 1 }},
		"a search finds a younger message than the first": {model.CheckerTime, func(h *model.MessageHistory) { h.Searches[8].Low = 0 }},
		"a search passes over one that is there":          {model.CheckerTime, func(h *model.MessageHistory) { h.Searches[7].Low = 0 }},
		"a search finds the last but one":                 {model.CheckerTime, func(h *model.MessageHistory) { h.Searches[2].Found = 1 }},
		"a young message is removed":                      {model.CheckerTrimmed, func(h *model.MessageHistory) { h.Pulls[2].Low = 1 }},
		"it is acknowledged and cannot be seen":           {model.CheckerVisible, func(h *model.MessageHistory) { h.Pulls[1].High = 1 }},
		"lost without a power cut":                        {model.CheckerLost, func(h *model.MessageHistory) { h.Durable = false; h.Pulls[2].Items = h.Pulls[2].Items[:1] }},
		"a power cut leaves a later message": {model.CheckerPrefix, func(h *model.MessageHistory) {
			h.Durable, h.PowerCuts = false, []model.Stamp{15}
			h.Pulls[3].Items = nil
		}},
	} {
		h := messageWorld()
		c.spoil(h)
		accused := false
		found := model.CheckMessages(h)
		for _, v := range found {
			accused = accused || v.Checker == c.checker
		}
		if !accused {
			t.Errorf("%s: nobody is accused by %s, but %+v", name, c.checker, found)
		}
	}
}

// TestDamageThatIsToldIsNoLoss, and of others it is one still.
func TestDamageThatIsToldIsNoLoss(t *testing.T) {
	h := messageWorld()
	h.Pulls[2].Items, h.Pulls[2].Next = h.Pulls[2].Items[:1], 1
	h.Pulls = append(h.Pulls, model.Pull{Client: 4, Call: 24, Return: 25, Queue: h.Pulls[2].Queue, From: 1, Final: true, Told: true})
	if found := model.CheckMessages(h); len(found) > 0 {
		t.Errorf("accused: %+v", found)
	}
	h.Pulls[4].From = 2
	if found := model.CheckMessages(h); len(found) == 0 {
		t.Error("a loss of another message is excused")
	}
}

// TestAPowerCutMayTakeTheEndOfTheLog where messages are acknowledged before they are on the media.
func TestAPowerCutMayTakeTheEndOfTheLog(t *testing.T) {
	h := messageWorld()
	h.Durable, h.PowerCuts = false, []model.Stamp{15}
	h.Pulls[2].Items, h.Pulls[2].Next = h.Pulls[2].Items[:1], 1
	if found := model.CheckMessages(h); len(found) > 0 {
		t.Errorf("accused: %+v", found)
	}
}
