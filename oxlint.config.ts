import { defineConfig } from 'oxlint'
import { PAGE_IMPORTS, TYPESCRIPT_RULES } from './build/lint-rules.ts'
import { SYNTAX_OVERRIDES } from './build/lint-syntax.ts'

/** `.ts` files. The `.vue` files are ESLint's: `eslint.config.js`. */
export default defineConfig({
  plugins: ['eslint', 'typescript'],
  jsPlugins: ['./build/lint-syntax.ts'],
  categories: { correctness: 'off' },
  options: {
    typeAware: true,
    denyWarnings: true,
    reportUnusedDisableDirectives: 'error',
    respectEslintDisableDirectives: false,
  },
  ignorePatterns: ['dist/', 'docs/', '**/*.vue', '**/*.cjs', '**/*.mjs', 'eslint.config.js'],
  rules: TYPESCRIPT_RULES,
  overrides: [
    ...SYNTAX_OVERRIDES,
    { files: ['cli/**', 'build/**', 'test/**'], rules: { 'no-console': 'off' } },
    { files: ['renderer/**'], rules: PAGE_IMPORTS },
    { files: ['renderer/**/*.test.ts', 'renderer/testing/**'], rules: { 'no-restricted-imports': 'off' } },
    {
      // These files run side by side and without a Docker Engine; tests that need one belong in test/engine.
      files: ['test/integration/**'],
      rules: {
        'no-restricted-imports': [
          'error',
          { patterns: ['**/fixtures/docker.ts', '**/fixtures/docker-engine.ts', '**/fixtures/agent-process.ts'] },
        ],
      },
    },
    {
      files: ['**/*.test.ts', 'test/**'],
      rules: { '@typescript-eslint/no-non-null-assertion': 'off', '@typescript-eslint/unbound-method': 'off' },
    },
  ],
})
