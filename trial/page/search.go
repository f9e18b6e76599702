package page

import (
	"bytes"
	"fmt"
	"time"

	"github.com/anishathalye/porcupine"

	"lakebed/model"
	"lakebed/trial"
)

// Bounds of the search: it takes exponential time, and a picture of hundreds of operations shows nothing.
const (
	searchedMax = 120
	searchTime  = 3 * time.Second
)

// Search has porcupine look at the first ledger in question, as a second opinion, and returns its own picture, an HTML
// page. Nil: it was not asked, because there is no such ledger or too much happened to it. The page then says so. How far
// porcupine comes in its time depends on the machine; a page without Search does not.
func (p *Page) Search(course *trial.Course) ([]byte, error) {
	if len(p.Copies) == 0 {
		return nil, nil
	}
	id := model.LedgerID(p.Copies[0].Ledger)
	var picture bytes.Buffer
	var result porcupine.CheckResult
	var err error
	if course.History != nil {
		result, err = model.PictureLedger(&picture, course.History, id, searchTime, searchedMax)
	} else if course.BookieHistory != nil {
		result, err = model.Picture(&picture, course.BookieHistory, id, searchTime, searchedMax)
	}
	if err != nil || picture.Len() == 0 {
		p.Searched = fmt.Sprintf("Porcupine was not asked: more than %d operations have to do with ledger %d.", searchedMax, id)
		return nil, err
	}
	told := map[porcupine.CheckResult]string{
		porcupine.Ok:      "finds an order that explains what its clients were told; the broken promise is not one of order",
		porcupine.Illegal: "finds no order that explains what its clients were told",
		porcupine.Unknown: fmt.Sprintf("has not come to an end in %s", searchTime),
	}
	p.Searched = fmt.Sprintf("Porcupine, asked about ledger %d, %s.", id, told[result])
	return picture.Bytes(), nil
}
