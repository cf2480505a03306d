import { expect, test } from 'vitest'
import { pageLanguage } from './page-language.ts'

test.each([
  [undefined, 'en'],
  ['', 'en'],
  ['ko-KR,ko;q=0.9,en-US;q=0.8', 'ko'],
  ['KO', 'ko'],
  ['en-GB,en;q=0.9,ko;q=0.8', 'en'],
  ['de,ko;q=0.5,en;q=0.7', 'en'],
  ['de;q=1, fr', 'en'],
  ['ko;q=0, en;q=0.1', 'en'],
  ['ko;q=nonsense', 'ko'],
  ['kok, *', 'en'],
] as const)('a browser that accepts %j gets pages in %s', (accepted, language) => {
  expect(pageLanguage(accepted)).toBe(language)
})
