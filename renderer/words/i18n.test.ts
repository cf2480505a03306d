import { effectScope, watchEffect } from 'vue'
import { afterEach, expect, test } from 'vitest'
import { addLanguage, defineWords, language } from './i18n.ts'
import { number, plural, select } from './icu.ts'

afterEach(() => {
  language.value = 'en'
})

test('a text follows the language where it is read reactively, and falls back to English', () => {
  const t = defineWords('test', { save: 'Save', quit: 'Quit' })
  addLanguage('ko', { test: { save: '저장' } })
  const seen: string[] = []
  const scope = effectScope()
  scope.run(() => watchEffect(() => seen.push(`${t('save')} ${t('quit')}`), { flush: 'sync' }))
  language.value = 'ko'
  scope.stop()
  expect(seen).toEqual(['Save Quit', '저장 Quit'])
})

test('plurals use the exact number, then its category, then the rest', () => {
  const rows = (count: number) =>
    plural('en', count, { '=0': () => 'none', one: n => `${n} row`, other: n => `${n} rows` })
  expect([0, 1, 2, 12_000].map(rows)).toEqual(['none', '1 row', '2 rows', '12,000 rows'])
  expect(plural('ko', 1, { other: n => `${n}개` })).toBe('1개')
  expect(select('b', { a: () => 'A', other: () => 'rest' })).toBe('rest')
  expect(number(1234.5)).toBe('1,234.5')
})
