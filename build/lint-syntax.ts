import { CAUSES } from './lint-causes.ts'
import { WORDS } from './lint-words.ts'

interface Ban {
  /** Globs from the root. */
  readonly files: readonly string[]
  readonly excludeFiles: readonly string[]
  /** Syntax that may not be written there, as selectors of ESLint. */
  readonly selectors: readonly string[]
  readonly message: string
}

/** Syntax that some folders do without, by the name of its rule. */
const BANS: Readonly<Record<string, Ban>> = {
  // Times of record are the database's (`store.now()`, `now()` in SQL); intervals are measured with `performance.now()`.
  clock: {
    files: ['manager/**/*.ts'],
    excludeFiles: ['**/*.test.ts', 'manager/contract/**', 'manager/store/new-id.ts'],
    selectors: [
      'MemberExpression[object.name=Date][property.name=now]',
      'NewExpression[callee.name=Date][arguments.length=0]',
    ],
    message: "The clock of this process is not the database's.",
  },
  questions: {
    files: ['electron/**/*.ts'],
    excludeFiles: ['electron/main/questions/questions.ts', '**/*.test.ts'],
    selectors: ['MemberExpression[property.name=/^show(MessageBox|OpenDialog|SaveDialog)(Sync)?$/]'],
    message: 'A question needs a window to be in front of: `createQuestions`.',
  },
  causes: CAUSES,
  words: WORDS,
}

/** The part of the context of a rule that these rules use, in oxlint as in ESLint. */
interface Context {
  report(found: { readonly node: unknown; readonly message: string }): void
}

const ruleOf = ({ selectors, message }: Ban) => ({
  create: (context: Context) =>
    Object.fromEntries(selectors.map(selector => [selector, (node: unknown) => context.report({ node, message })])),
})

/** Overrides of `oxlint.config.ts` that switch the rules on where they apply. */
export const SYNTAX_OVERRIDES = Object.entries(BANS).map(([name, { files, excludeFiles }]) => ({
  files: [...files],
  excludeFiles: [...excludeFiles],
  rules: { [`berth/${name}`]: 'error' as const },
}))

/** Plugin of oxlint: the linter that reads all `.ts` files anyway. */
export default {
  meta: { name: 'berth' },
  rules: Object.fromEntries(Object.entries(BANS).map(([name, ban]) => [name, ruleOf(ban)])),
}
