import { afterEach, expect, test } from 'vitest'
import { AppError, because } from '#manager/contract'
import ko from '../words/ko/causes.ts'
import { addLanguage, language } from '../words/i18n.ts'
import { errorText } from './error-text.ts'

afterEach(() => {
  language.value = 'en'
})

test('a cause of the table is in the language of the page, any other is the text of the server', () => {
  const known = new AppError('file_exists', because('file_there', { name: 'a.txt' }))
  const newer = new AppError('file_exists', { why: 'Another reason.', cause: 'of_a_newer_server' })
  expect([errorText(known).why, errorText(newer).why]).toEqual(['"a.txt" exists already.', 'Another reason.'])
  addLanguage('ko', { causes: ko })
  language.value = 'ko'
  expect([errorText(known).why, errorText(newer).why]).toEqual(['"a.txt" 항목이 이미 있습니다.', 'Another reason.'])
})
