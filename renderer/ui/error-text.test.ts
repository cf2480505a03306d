import { afterEach, expect, test } from 'vitest'
import { AppError, because, together, type Because } from '#manager/contract'
import admin from '../words/ko/admin-causes.ts'
import ko from '../words/ko/causes.ts'
import hosts from '../words/ko/host-causes.ts'
import { addLanguage, language } from '../words/i18n.ts'
import { errorText } from './error-text.ts'

afterEach(() => {
  language.value = 'en'
})

test('where the cause says what to do, no step of the code follows', () => {
  const here = new AppError('forbidden', { ...because('browser_unproven'), whySaysNext: true })
  expect(errorText(here).why).toContain('Prove it with the command')
  expect([errorText(here).next, errorText(new AppError('forbidden')).next]).toEqual([
    '',
    'Ask the owner of the session or an administrator.',
  ])
})

test('a cause of the table is in the language of the page, any other is the text of the server', () => {
  const known = new AppError('file_exists', because('file_there', { name: 'a.txt' }))
  const newer = new AppError('file_exists', { why: 'Another reason.', cause: 'of_a_newer_server' })
  expect([errorText(known).why, errorText(newer).why]).toEqual(['"a.txt" exists already.', 'Another reason.'])
  addLanguage('ko', { causes: ko })
  language.value = 'ko'
  expect([errorText(known).why, errorText(newer).why]).toEqual(['"a.txt" 항목이 이미 있습니다.', 'Another reason.'])
})

const SAMPLES: readonly (readonly [area: string, cause: Because, korean: string])[] = [
  ['signing in', because('clock_behind', { seconds: 20 }), '시계가 서버보다 20초 늦습니다.'],
  [
    'limits',
    because('limit_of_user', { needed: '8 CPU', limit: '4 CPU', policy: 'small' }),
    '필요한 자원: 8 CPU. 자원 정책 "small"의 사용자별 한도는 모두 합쳐 4 CPU입니다. 더 적게 요청하세요.',
  ],
  ['sessions', because('only_admin_forces_end'), '관리자만 에이전트를 기다리지 않고 세션을 종료할 수 있습니다.'],
  [
    'storage',
    because('storage_at_silent', { storage: 'nfs', path: '/mnt' }),
    '/mnt 경로의 "nfs" 스토리지가 응답하지 않습니다.',
  ],
  ['registries', because('registry_unknown', { registry: 'cr' }), '"cr" 레지스트리가 없습니다.'],
  [
    'deletion',
    together(because('still_members', { count: 2 }), because('purge_of_active', { name: 'vision' })),
    '아직 구성원 2명이 있습니다. "vision" 항목이 활성 상태입니다. 모두 삭제하기 전에 비활성화하세요.',
  ],
]
test.each(SAMPLES)('an error of %s is in Korean', (_area, cause, korean) => {
  addLanguage('ko', { causes: ko, 'host-causes': hosts, 'admin-causes': admin })
  language.value = 'ko'
  expect(errorText(new AppError('bad_request', cause)).why).toBe(korean)
})

test('a cause of which one sentence has no translation stays whole in English', () => {
  addLanguage('ko', { causes: ko })
  language.value = 'ko'
  const cause = together(because('try_again'), because('only_superadmin_invites'))
  expect(errorText(new AppError('forbidden', cause)).why).toBe(cause.why)
})
