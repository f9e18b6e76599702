package seamcheck

import (
	"go/ast"
	"go/constant"
	"go/token"
	"go/types"
	"strings"
	"unicode"
	"unicode/utf8"
)

// checkSyntax reports what the language itself offers beside the seam: tasks, channels, map order.
func (p *pass) checkSyntax(node ast.Node) {
	switch n := node.(type) {
	case *ast.GoStmt:
		p.report(n, "go statement", GoStatement)
	case *ast.SelectStmt:
		p.report(n, "select", Select)
	case *ast.ChanType:
		p.report(n, "channel type", Channel)
	case *ast.SendStmt:
		p.report(n, "send", Channel)
	case *ast.UnaryExpr:
		if n.Op == token.ARROW {
			p.report(n, "receive", Channel)
		}
	case *ast.RangeStmt:
		p.checkRange(n)
	}
}

func (p *pass) checkRange(loop *ast.RangeStmt) {
	for _, t := range terms(p.info.TypeOf(loop.X)) {
		switch t.Underlying().(type) {
		case *types.Map:
			p.report(loop, "range over a map", MapOrder)
		case *types.Chan:
			p.report(loop, "range over a channel", Channel)
		}
	}
}

// terms are the types that t can be: itself, or for a type parameter those that its constraint lists.
func terms(t types.Type) []types.Type {
	parameter, ok := types.Unalias(t).(*types.TypeParam)
	if !ok {
		return []types.Type{t}
	}
	return constraintTerms(parameter.Constraint())
}

func constraintTerms(constraint types.Type) []types.Type {
	limits, ok := constraint.Underlying().(*types.Interface)
	if !ok {
		return []types.Type{constraint}
	}
	var all []types.Type
	for i := range limits.NumEmbeddeds() {
		embedded := limits.EmbeddedType(i)
		union, ok := embedded.(*types.Union)
		if !ok {
			all = append(all, constraintTerms(embedded)...)
			continue
		}
		for j := range union.Len() {
			all = append(all, constraintTerms(union.Term(j).Type())...)
		}
	}
	return all
}

func (p *pass) checkBuiltin(name *ast.Ident, builtin *types.Builtin) {
	switch builtin.Name() {
	case "close": // takes nothing but channels
		p.report(name, "close", Channel)
	case "print", "println":
		p.report(name, builtin.Name(), Logging)
	}
}

// printsAddress reports whether format holds the verb %p, with any flags, width and index. The flag ' ' does not count,
// so that "50 % per second" stays prose, and neither does a word that only starts with p.
func printsAddress(format string) bool {
	for {
		_, after, found := strings.Cut(format, "%")
		if !found {
			return false
		}
		if verb, ok := strings.CutPrefix(strings.TrimLeft(after, "+-#.*[]0123456789"), "p"); ok {
			if next, _ := utf8.DecodeRuneInString(verb); !unicode.IsLetter(next) {
				return true
			}
		}
		format = strings.TrimPrefix(after, "%") // an escaped percent sign starts no verb
	}
}

// checkAddress looks at constant strings, wherever they stand: a format may reach fmt through any number of hands.
func (p *pass) checkAddress(expression ast.Expr) {
	value := p.info.Types[expression].Value
	if value != nil && value.Kind() == constant.String && printsAddress(constant.StringVal(value)) {
		p.report(expression, "%p", Address)
	}
}
