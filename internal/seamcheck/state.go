package seamcheck

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
)

// checkVariables reports package-level variables that could hold state. What remains is constant in all but the word:
// numbers, strings, arrays and structs of those, sentinel errors, checksum tables.
func (p *pass) checkVariables(declaration *ast.GenDecl) {
	if declaration.Tok != token.VAR {
		return
	}
	for _, spec := range declaration.Specs {
		values := spec.(*ast.ValueSpec)
		for i, name := range values.Names {
			if name.Name == "_" { // an assertion for the compiler
				continue
			}
			var value ast.Expr
			if len(values.Values) == len(values.Names) {
				value = values.Values[i]
			}
			if !p.constant(p.info.Defs[name].Type(), value) {
				p.report(name, "variable "+name.Name+" of type "+typeName(p.info.Defs[name].Type()), SharedState)
			}
		}
	}
}

// constant reports whether a variable of type t that starts as value can never change unless it is written to.
func (p *pass) constant(t types.Type, value ast.Expr) bool {
	if immutable(t) {
		return true
	}
	if value == nil {
		return false
	}
	switch typeName(t) {
	case "error":
		return immutable(p.info.TypeOf(value)) || p.comesFrom(value, "errors.New", "fmt.Errorf", "errors.Join") ||
			p.packageVariable(value) != nil
	case "*hash/crc32.Table", "*hash/crc64.Table":
		return p.comesFrom(value, "hash/crc32.MakeTable", "hash/crc64.MakeTable") || p.packageVariable(value) != nil
	}
	return false
}

// immutable reports whether values of t hold no pointer through which somebody could change them.
func immutable(t types.Type) bool {
	switch u := t.Underlying().(type) {
	case *types.Basic:
		return u.Kind() != types.UnsafePointer
	case *types.Array:
		return immutable(u.Elem())
	case *types.Struct:
		for field := range u.Fields() {
			if !immutable(field.Type()) {
				return false
			}
		}
		return true
	}
	return false
}

// comesFrom reports whether value is a call of one of the functions, each named "path.Name".
func (p *pass) comesFrom(value ast.Expr, functions ...string) bool {
	call, ok := ast.Unparen(value).(*ast.CallExpr)
	if !ok {
		return false
	}
	var name *ast.Ident
	switch f := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		name = f
	case *ast.SelectorExpr:
		name = f.Sel
	default:
		return false
	}
	obj := p.info.Uses[name]
	return obj != nil && obj.Pkg() != nil && slices.Contains(functions, obj.Pkg().Path()+"."+objectName(obj))
}

func typeName(t types.Type) string { return types.TypeString(t, nil) }

// checkWrite reports assignments to package-level variables of any package, and addresses taken of them, through
// which they could be assigned to later.
func (p *pass) checkWrite(node ast.Node) {
	switch n := node.(type) {
	case *ast.AssignStmt:
		for _, target := range n.Lhs {
			p.checkTarget(target, "write to ")
		}
	case *ast.IncDecStmt:
		p.checkTarget(n.X, "write to ")
	case *ast.RangeStmt:
		p.checkTarget(n.Key, "write to ")
		p.checkTarget(n.Value, "write to ")
	case *ast.UnaryExpr:
		if n.Op == token.AND {
			p.checkTarget(n.X, "address of ")
		}
	case *ast.SliceExpr: // slicing an array shares it
		if _, isArray := p.info.TypeOf(n.X).Underlying().(*types.Array); isArray {
			p.checkTarget(n.X, "slice of ")
		}
	case *ast.SelectorExpr: // x.Method with a pointer receiver is (&x).Method
		if p.takesAddress(n) {
			p.checkTarget(n.X, "address of ")
		}
	}
}

func (p *pass) checkTarget(target ast.Expr, what string) {
	if variable := p.packageVariable(target); variable != nil {
		p.report(target, what+"package-level variable "+variable.Name(), SharedState)
	}
}

// packageVariable returns the package-level variable that expression is, or is a part of.
func (p *pass) packageVariable(expression ast.Expr) *types.Var {
	switch e := expression.(type) {
	case *ast.ParenExpr:
		return p.packageVariable(e.X)
	case *ast.StarExpr:
		return p.packageVariable(e.X)
	case *ast.IndexExpr:
		return p.packageVariable(e.X)
	case *ast.SelectorExpr:
		if selection := p.info.Selections[e]; selection != nil {
			return p.packageVariable(e.X)
		}
		return p.packageVariable(e.Sel) // package.Name
	case *ast.Ident:
		variable, ok := p.info.Uses[e].(*types.Var)
		if ok && !variable.IsField() && variable.Pkg() != nil && variable.Parent() == variable.Pkg().Scope() {
			return variable
		}
	}
	return nil
}

// takesAddress reports whether selector names a method with a pointer receiver on a value.
func (p *pass) takesAddress(selector *ast.SelectorExpr) bool {
	selection := p.info.Selections[selector]
	if selection == nil || selection.Kind() != types.MethodVal {
		return false
	}
	method := selection.Obj().(*types.Func)
	_, wantsPointer := method.Signature().Recv().Type().(*types.Pointer)
	_, isPointer := selection.Recv().Underlying().(*types.Pointer)
	return wantsPointer && !isPointer
}
