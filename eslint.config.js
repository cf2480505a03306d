import pluginVue from 'eslint-plugin-vue'
import tseslint from 'typescript-eslint'
import { PAGE_IMPORTS, TYPESCRIPT_RULES } from './build/lint-rules.ts'
import { WORDS_CONFIG } from './build/lint-words.ts'

/** `.vue` files. The rules for `.ts` files: `oxlint.config.ts`. */
export default tseslint.config(
  { ignores: ['dist/', 'node_modules/', 'docs/', '**/*.cjs', '**/*.mjs'] },
  { linterOptions: { reportUnusedDisableDirectives: 'error' } },
  {
    files: ['**/*.vue'],
    extends: [...tseslint.configs.strictTypeChecked, ...pluginVue.configs['flat/recommended']],
    languageOptions: {
      parserOptions: {
        // The same program for all files: the project service would renew its program for each `.vue` file, at five times the time.
        project: ['renderer/tsconfig.json'],
        tsconfigRootDir: import.meta.dirname,
        parser: tseslint.parser,
        extraFileExtensions: ['.vue'],
      },
    },
    rules: {
      ...TYPESCRIPT_RULES,
      ...PAGE_IMPORTS,
      // Browsers honour it once per document: the second dialog would have no focus. `v-focus` of ui/focus.ts works each time.
      'vue/no-restricted-static-attribute': ['error', { key: 'autofocus', message: 'Use v-focus.' }],
      'vue/no-restricted-v-bind': ['error', { argument: 'autofocus', message: 'Use v-focus.' }],
      // The formatter owns the layout of templates.
      'vue/max-attributes-per-line': 'off',
      'vue/singleline-html-element-content-newline': 'off',
      'vue/multiline-html-element-content-newline': 'off',
      'vue/html-self-closing': 'off',
      'vue/html-indent': 'off',
      'vue/html-closing-bracket-newline': 'off',
      'vue/attributes-order': 'off',
    },
  },
  ...WORDS_CONFIG,
)
