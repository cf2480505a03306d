import { readonly, ref } from 'vue'
import { addLanguage, language, LANGUAGES, type Language } from './i18n.ts'
import { type Messages } from './message-types.ts'

export type LanguageChoice = Language | 'system'
const KEY = 'berth.language'

/** Functions that load texts, by language. English has no entry: its texts are part of the files that use them. */
export type TextLoaders = Readonly<
  Record<Exclude<Language, 'en'>, () => Promise<{ readonly default: Readonly<Record<string, Messages>> }>>
>
const loaders: TextLoaders[] = [{ ko: () => import('./korean.ts') }]

const choice = ref<LanguageChoice>(readChoice())
/** The chosen language, remembered on this computer and followed by every open tab. */
export const languageChoice = readonly(choice)

function readChoice(): LanguageChoice {
  const stored = globalThis.localStorage.getItem(KEY)
  return LANGUAGES.find(name => name === stored) ?? 'system'
}

/** The first language of the browser's settings that the page supports; English if there is none. */
function systemLanguage(): Language {
  for (const tag of globalThis.navigator.languages) {
    const known = LANGUAGES.find(name => name === tag.split('-')[0])
    if (known) return known
  }
  return 'en'
}

let newest = 0
/** Loads the texts of the chosen language and shows them. A choice made during the loading of another language wins. */
async function show(): Promise<void> {
  const turn = (newest += 1)
  const next = choice.value === 'system' ? systemLanguage() : choice.value
  const texts = next === 'en' ? [] : await Promise.all(loaders.map(async load => (await load[next]()).default))
  if (turn !== newest) return
  if (next !== 'en') addLanguage(next, Object.assign({}, ...texts) as Record<string, Messages>)
  language.value = next
  document.documentElement.lang = next
}

/** Adds texts of rarely opened pages. They are loaded now in the language of the page, and after every later choice. */
export async function addTexts(added: TextLoaders): Promise<void> {
  loaders.push(added)
  await show()
}

/** Changes the language and remembers it. @throws if the texts cannot be loaded; the page keeps its language */
export async function chooseLanguage(next: LanguageChoice): Promise<void> {
  const before = choice.value
  choice.value = next
  try {
    await show()
    globalThis.localStorage.setItem(KEY, next)
  } catch (error) {
    if (choice.value === next) choice.value = before
    throw error
  }
}

/**
 * Shows the chosen language from the start of the page, and follows choices of other tabs and of the browser's settings.
 * @param onFailure called when texts cannot be loaded; the page keeps its language, at the start English
 * @returns resolved when the page can be shown
 */
export async function startLanguage(onFailure: (error: unknown) => void): Promise<void> {
  const follow = () => show().catch(onFailure)
  globalThis.addEventListener('storage', ({ key }) => {
    if (key !== KEY) return
    choice.value = readChoice()
    void follow()
  })
  globalThis.addEventListener('languagechange', () => void follow())
  await follow()
}
