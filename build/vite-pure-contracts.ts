import { relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { type ESTree, type Plugin } from 'vite'

/** Paths of contracts and of what lies below them, in the working copy. */
const CONTRACT = /^(?:(?:manager|proxy)[\\/]contract|base)[\\/].*\.ts$/
const ROOT = fileURLToPath(new URL('..', import.meta.url))

/**
 * Tells the bundler that the constants of contracts have no side effects, so that it leaves out schemas which the page does not
 * use, and zod with them. A schema is a chain of calls, and the bundler cannot know by itself that they are pure.
 */
export function pureContracts(): Plugin {
  return {
    name: 'berth:pure-contracts',
    apply: 'build',
    transform(code, id) {
      if (!CONTRACT.test(relative(ROOT, id))) return undefined
      let result = code
      // From the end, so that earlier positions stay valid.
      for (const [start, end] of initializers(this.parse(code)).toReversed()) {
        const value = result.slice(start, end)
        if (value.includes('('))
          result = `${result.slice(0, start)}/* @__PURE__ */ (() => (${value}))()${result.slice(end)}`
      }
      return { code: result, map: null }
    },
  }
}

/** Positions of the values of a module's constants, except functions. */
function initializers({ body }: ESTree.Program): [start: number, end: number][] {
  return body.flatMap(statement => {
    const declared = statement.type === 'ExportNamedDeclaration' ? statement.declaration : statement
    if (declared?.type !== 'VariableDeclaration' || declared.kind !== 'const') return []
    return declared.declarations.flatMap(({ id, init }) => {
      if (id.type !== 'Identifier' || !init || init.type.endsWith('FunctionExpression')) return []
      return [[init.start, init.end] satisfies [number, number]]
    })
  })
}
