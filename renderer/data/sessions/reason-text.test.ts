import { afterEach, beforeEach, expect, test } from 'vitest'
import { because, inTurn, messageOf, reasonOf, together, type Reason } from '#manager/contract'
import hosts from '../../words/ko/host-causes.ts'
import reasons from '../../words/ko/reasons.ts'
import sessions from '../../words/ko/session-causes.ts'
import { addLanguage, language } from '../../words/i18n.ts'
import { messageText } from '../../ui/cause-text.ts'
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

test('a reason of amounts has a sentence for each of them', () => {
  const needs = [
    because('needs_of_user', { needed: '3 GPU', left: '2', limit: '4 GPU', policy: 'small' }),
    because('needs_none_free', { needed: '8 GiB RAM' }),
  ]
  const reason = reasonOf('user_policy', inTurn(needs, because('starts_when_others_end')))
  expect(reasonText(reason)).toBe(
    '필요: 3 GPU("small" 자원 정책의 사용자별 한도 4 GPU 중 2 남음). 필요: 8 GiB RAM(남은 것이 없음). 다른 세션이 끝나면 시작합니다.',
  )
  language.value = 'en'
  expect(reasonText(reason)).toBe(
    'Needs 3 GPU; 2 left of the 4 GPU that resource policy "small" gives each user. Needs 8 GiB RAM (none free). Starts when other sessions end.',
  )
})

test('the end of a session is told in Korean with the duration of its limit', () => {
  expect(reasonText(reasonOf('idle_timeout', because('idle_for_minutes', { count: 90 })))).toBe(
    '세션에서 유휴 제한 시간인 90분 동안 아무 일도 없었습니다.',
  )
  expect(reasonText(reasonOf('max_lifetime', because('lived_hours', { count: 1 })))).toBe(
    '최대 수명이 끝났습니다: 1시간과 연장한 시간.',
  )
})

test('a notice has the text of its key, else the English of the server', () => {
  const notice = messageOf('shmem_lowered', because('shmem_lowered', { amount: '2 GiB RAM' }))
  expect(messageText(notice)).toBe('공유 메모리는 RAM의 일부이므로 다음 크기로 줄였습니다: 2 GiB RAM.')
  expect(messageText({ message: 'Of a newer server.', cause: 'newer' })).toBe('Of a newer server.')
  expect(messageText(null)).toBeUndefined()
  language.value = 'en'
  expect(messageText(notice)).toBe('Shared memory is part of the RAM and was lowered to 2 GiB RAM.')
})

test('a reason without a key, or with a key of a newer server, has the sentence of its code', () => {
  const plain: Reason = { code: 'create_failed', message: 'Something else.' }
  expect(reasonText(plain)).toBe(reasons.create_failed)
  expect(reasonText({ ...plain, cause: 'of_a_newer_server' })).toBe(reasons.create_failed)
})
