import pluginVue from 'eslint-plugin-vue'
import tseslint from 'typescript-eslint'

export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'docs/', 'build/**/*.cjs', '**/*.mjs', 'eslint.config.js'] },
  ...tseslint.configs.strictTypeChecked,
  ...pluginVue.configs['flat/recommended'],
  {
    languageOptions: {
      parserOptions: {
        projectService: true,
        tsconfigRootDir: import.meta.dirname,
        parser: tseslint.parser,
        extraFileExtensions: ['.vue'],
      },
    },
    rules: {
      '@typescript-eslint/consistent-type-imports': ['error', { fixStyle: 'inline-type-imports' }],
      '@typescript-eslint/switch-exhaustiveness-check': 'error',
      '@typescript-eslint/no-confusing-void-expression': ['error', { ignoreArrowShorthand: true }],
      '@typescript-eslint/restrict-template-expressions': ['error', { allowNumber: true, allowBoolean: true }],
      '@typescript-eslint/no-unused-vars': ['error', { argsIgnorePattern: '^_', varsIgnorePattern: '^_' }],
      'no-console': 'error',
    },
  },
  {
    files: ['**/*.vue'],
    rules: {
      // Prettier owns the layout of templates.
      'vue/max-attributes-per-line': 'off',
      'vue/singleline-html-element-content-newline': 'off',
      'vue/multiline-html-element-content-newline': 'off',
      'vue/html-self-closing': 'off',
      'vue/html-indent': 'off',
      'vue/html-closing-bracket-newline': 'off',
      'vue/attributes-order': 'off',
    },
  },
  { files: ['cli/**', 'build/**', 'test/**'], rules: { 'no-console': 'off' } },
  {
    // Times of record are the database's (`store.now()`, `now()` in SQL); intervals are measured with `performance.now()`.
    files: ['manager/**/*.ts'],
    ignores: ['**/*.test.ts', 'manager/contract/**', 'manager/store/new-id.ts'],
    rules: {
      'no-restricted-syntax': [
        'error',
        ...[
          'MemberExpression[object.name=Date][property.name=now]',
          'NewExpression[callee.name=Date][arguments.length=0]',
        ].map(selector => ({ selector, message: "The clock of this process is not the database's." })),
      ],
    },
  },
  {
    // Its files run side by side and without a Docker Engine; tests that need one belong in test/engine.
    files: ['test/integration/**'],
    rules: {
      'no-restricted-imports': [
        'error',
        {
          patterns: ['**/fixtures/docker.ts', '**/fixtures/docker-engine.ts', '**/fixtures/agent-process.ts'],
        },
      ],
    },
  },
  {
    files: ['**/*.test.ts', 'test/**'],
    rules: { '@typescript-eslint/no-non-null-assertion': 'off', '@typescript-eslint/unbound-method': 'off' },
  },
)
