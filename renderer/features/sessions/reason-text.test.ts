import { afterEach, beforeEach, expect, test } from 'vitest'
import { because, reasonOf, together, type Reason } from '#manager/contract'
import hosts from '../../words/ko/host-causes.ts'
import reasons from '../../words/ko/reasons.ts'
import sessions from '../../words/ko/session-causes.ts'
import { addLanguage, language } from '../../words/i18n.ts'
import { reasonText } from './reason-text.ts'

beforeEach(() => {
  addLanguage('ko', { reasons, 'session-causes': sessions, 'host-causes': hosts })
  language.value = 'ko'
})
afterEach(() => {
  language.value = 'en'
})

test('a failed start is told in Korean with the host and the cause that its agent gave', () => {
  const why = together(because('start_failed_on', { host: 'gpu-1' }), because('docker_silent'), because('trying_again'))
  const reason = reasonOf('retried', why)
  expect(reasonText(reason)).toBe(
    'gpu-1 호스트에서 시작하지 못했습니다: 호스트의 Docker가 응답하지 않습니다. 다시 시도합니다.',
  )
  language.value = 'en'
  expect(reasonText(reason)).toBe('Starting on host gpu-1 failed: Docker on the host does not answer. Trying again.')
})

test('a reason without a key, or with a key of a newer server, has the sentence of its code', () => {
  const plain: Reason = { code: 'create_failed', message: 'Something else.' }
  expect(reasonText(plain)).toBe(reasons.create_failed)
  expect(reasonText({ ...plain, cause: 'of_a_newer_server' })).toBe(reasons.create_failed)
})
