import pluginVue from 'eslint-plugin-vue'

/** Signs, product names and examples of input: the same in every language. */
const SAME_EVERYWHERE = [
  ...['·', '→', '=', '↑', '↓', '(', ')', ',', '.', ':', '%', '/', '-', '–', '—', '•', '×', '“', '”', '…'],
  ...['CPU', 'RAM', 'GPU', 'SSH', 'VS Code', 'FileZilla', 'PuTTY', 'WinSCP'],
  ...['English', '한국어', '22022', 'berth.example.org', 'name@example.org', 'ssh-ed25519 AAAA…', 'python3 train.py'],
]
const ON_ELEMENTS = ['title', 'aria-label', 'aria-description', 'alt']
const ON_COMPONENTS = ['label', 'placeholder', 'hint', 'text', 'subtitle', 'note', 'suffix', 'heading', 'confirm-label']
const MESSAGE = 'Texts that people read are in renderer/words, in every language (renderer/README.md).'

/** Errors that are thrown or passed on are for developers, unless they are AppErrors. */
const OF_DEVELOPERS = ':not(ThrowStatement *):not(NewExpression[callee.name="Error"] *)'

/** Looks like a sentence: a capital letter, and a second word. */
const SENTENCES = [
  `Literal[value=/^[A-Z][a-z]+,? [a-z0-9]/]${OF_DEVELOPERS}:not(TSLiteralType *)`,
  `TemplateElement[value.cooked=/(^|[.!?:] )[A-Z][a-z]+,? [a-z]/]${OF_DEVELOPERS}`,
]

/** Keeps texts in the code of the console page in its catalogues: rule of `.ts` files. */
export const WORDS = {
  files: ['renderer/**/*.ts'],
  excludeFiles: ['**/*.test.ts', 'renderer/words/**', 'renderer/testing/**'],
  selectors: SENTENCES,
  message: MESSAGE,
} as const

/** The same for `.vue` files and their templates. */
export const WORDS_CONFIG = [
  {
    files: ['renderer/**/*.vue'],
    plugins: { vue: pluginVue },
    rules: {
      'vue/no-bare-strings-in-template': [
        'error',
        {
          allowlist: SAME_EVERYWHERE,
          attributes: {
            '/.+/': ON_ELEMENTS,
            '/^[A-Z]/': [...ON_COMPONENTS, 'cancel-label', 'submit-label'],
            input: ['placeholder'],
          },
        },
      ],
    },
  },
  {
    files: ['renderer/**/*.vue'],
    rules: {
      'no-restricted-syntax': ['error', ...SENTENCES.map(selector => ({ selector, message: MESSAGE }))],
    },
  },
]
