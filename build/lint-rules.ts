import tseslint from 'typescript-eslint'

type Rule = 'error' | ['error', ...unknown[]]

/** Rules of the set that the pinned oxlint does not support yet. */
const ONLY_ESLINT = [
  '@typescript-eslint/no-unsafe-class-instance-assignment',
  '@typescript-eslint/no-unsafe-enum-assignment',
]

/**
 * The rules for TypeScript: the strict, type-aware set of typescript-eslint with the project's settings. Oxlint checks them in
 * `.ts` files, ESLint in `.vue` files.
 */
export const TYPESCRIPT_RULES: Readonly<Record<string, Rule>> = {
  ...Object.fromEntries(
    tseslint.configs.strictTypeChecked
      .flatMap(({ rules }) => Object.entries(rules ?? {}))
      .filter(([name, level]) => level !== 'off' && !ONLY_ESLINT.includes(name)),
  ),
  '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
  '@typescript-eslint/switch-exhaustiveness-check': 'error',
  '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
  '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
  '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
  'no-console': 'error',
}

/** The page makes no errors with a cause of their own: one use would put the English texts of all causes, 20 kB, into its first load. */
export const PAGE_IMPORTS: Readonly<Record<string, Rule>> = {
  'no-restricted-imports': [
    'error',
    {
      paths: [
        {
          name: '#manager/contract',
          importNames: ['because', 'becauseOf', 'causeIn', 'failureText', 'isCauseKey'],
          message: 'It needs the English texts of all causes. Use a code of the errors, or words of the page.',
        },
      ],
    },
  ],
}
