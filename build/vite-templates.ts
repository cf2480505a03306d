import { fileURLToPath } from 'node:url'
import vue from '@vitejs/plugin-vue'
import { type Plugin } from 'vite'
import { type compile } from 'vue'

/** Types of nodes in the trees of Vue's compiler, whose enum of them is in an internal package. */
const ELEMENT = 1
const INTERPOLATION = 5
const COMPOUND_EXPRESSION = 8

/** The part of a tree of Vue's compiler that is read here. */
interface Expression {
  readonly loc: unknown
  /** Whether it is a text that the template itself has. */
  readonly isStatic?: boolean
}
interface Binding {
  readonly name: string
  readonly arg?: { readonly content?: string; readonly isStatic?: boolean }
  exp?: Expression
}
interface TemplateNode {
  readonly type: number
  readonly tag?: string
  readonly props?: readonly Binding[]
  content?: Expression
}
interface Context {
  readonly imports: object[]
}
type NodeTransforms = NonNullable<NonNullable<Parameters<typeof compile>[1]>['nodeTransforms']>

const FILE = fileURLToPath(new URL('../renderer/ui/visible-marks.ts', import.meta.url))
const IMPORTED = { exp: '{ visibleMarks as _visibleMarks }', path: FILE }
/** Attributes that browsers show or screen readers say, at any element. */
const OF_ELEMENTS = new Set(['title', 'alt', 'placeholder', 'aria-label', 'aria-description', 'aria-valuetext'])
/** Properties that components of Vuetify show. Our own components show theirs in a template. */
const OF_VUETIFY = new Set([...OF_ELEMENTS, 'label', 'text', 'subtitle', 'hint', 'messages', 'error-messages'])

/** Compiles the components of the page. The texts that they show pass `visibleMarks` (renderer/ui/visible-marks.ts). */
export function pageTemplates(): Plugin {
  // The types of the internal package say more than is read here.
  const nodeTransforms = [showVisibleMarks] as unknown as NodeTransforms
  return vue({ template: { compilerOptions: { nodeTransforms } } })
}

/** Calls `visibleMarks` for the shown expressions of a template. Runs after Vue's own transforms, so names are resolved already. */
function showVisibleMarks(node: TemplateNode, context: Context): void {
  if (node.type === INTERPOLATION && node.content) node.content = called(node.content, context)
  if (node.type !== ELEMENT) return
  const shown = node.tag?.startsWith('V') ? OF_VUETIFY : OF_ELEMENTS
  for (const prop of node.props ?? []) {
    const { name, arg, exp } = prop
    if (name === 'bind' && exp && arg?.isStatic && shown.has(arg.content ?? '')) prop.exp = called(exp, context)
  }
}

function called(expression: Expression, { imports }: Context): Expression {
  if (expression.isStatic) return expression
  if (!imports.includes(IMPORTED)) imports.push(IMPORTED)
  const call = { type: COMPOUND_EXPRESSION, loc: expression.loc, children: ['_visibleMarks(', expression, ')'] }
  return call
}
