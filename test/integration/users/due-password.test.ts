import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AppError, type User } from '#manager/contract'
import { startTestManager, type TestManager } from '../../fixtures/manager.ts'

let manager: TestManager
let admin: Awaited<ReturnType<TestManager['signIn']>>['api']
beforeAll(async () => {
  manager = await startTestManager()
  admin = (await manager.signIn()).api
})
afterAll(() => manager[Symbol.asyncDispose]())

const FIRST = 'Given-by-admin-1'
const OWN = 'Chosen-by-owner-2'
const codeOf = (call: Promise<unknown>) =>
  call.then(
    () => '',
    (error: unknown) => (error as AppError).code,
  )
const create = (email: string, change: object = {}): Promise<User> =>
  admin.createUser({ body: { email, name: 'Ada', password: FIRST, mustChangePassword: true, ...change } })
const signIn = (email: string, password: string, newPassword?: string) =>
  manager.api().login({ body: { email, password, kind: 'token', ...(newPassword ? { newPassword } : {}) } })

test('an account whose password has to be changed is entered only by choosing a new one, which ends what was open', async () => {
  const email = 'due@example.org'
  expect(await create(email)).toMatchObject({ mustChangePassword: true })
  expect(await codeOf(signIn(email, FIRST))).toBe('password_change_required')
  expect(await codeOf(signIn(email, 'wrong', OWN))).toBe('login_failed')
  expect(await codeOf(signIn(email, FIRST, FIRST))).toBe('password_unchanged')
  expect(await codeOf(signIn(email, FIRST, 'weak'))).toBe('weak_password')
  const { user, token } = await signIn(email, FIRST, OWN)
  expect(user).toMatchObject({ email, mustChangePassword: false })
  expect((await manager.api(token ?? '').me()).user.email).toBe(email)
  expect(await codeOf(signIn(email, FIRST, 'Another-one-3'))).toBe('login_failed')

  // Required again: the open sign-in stays; the next one needs a new password and ends the open one.
  await admin.updateUser({ params: { id: user.id }, body: { mustChangePassword: true } })
  expect((await manager.api(token ?? '').me()).user.mustChangePassword).toBe(true)
  expect(await codeOf(signIn(email, OWN))).toBe('password_change_required')
  await signIn(email, OWN, 'Another-one-3')
  expect(await codeOf(manager.api(token ?? '').me())).toBe('not_signed_in')
})

test('a password that is not due is not changed by a sign-in; changing it oneself meets the requirement', async () => {
  const { id } = await create('not-due@example.org', { mustChangePassword: false })
  await signIn('not-due@example.org', FIRST, OWN)
  const { token } = await signIn('not-due@example.org', FIRST)
  await admin.updateUser({ params: { id }, body: { mustChangePassword: true } })
  await manager.api(token ?? '').changePassword({ body: { oldPassword: FIRST, newPassword: OWN } })
  expect((await signIn('not-due@example.org', OWN)).user.mustChangePassword).toBe(false)
})

test('description and policy come with the account or not at all; only superadmins give policies', async () => {
  await admin.createResourcePolicy({ body: { name: 'course' } })
  const made = await create('course@example.org', { description: 'Course 7', resourcePolicy: 'course' })
  expect(made).toMatchObject({ description: 'Course 7', resourcePolicy: 'course' })
  const held = await admin.listUsers({ query: { resourcePolicy: 'course' } })
  expect(held).toMatchObject({ total: 1, items: [{ id: made.id }] })
  expect(await codeOf(create('lost@example.org', { resourcePolicy: 'nowhere' }))).toBe('resource_policy_not_found')
  expect((await admin.listUsers({ query: { search: 'lost@' } })).total).toBe(0)
  const params = { id: made.id }
  const nowhere = { name: 'Eve', resourcePolicy: 'nowhere' }
  expect(await codeOf(admin.updateUser({ params, body: nowhere }))).toBe('resource_policy_not_found')
  const changed = await admin.updateUser({ params, body: { description: '', resourcePolicy: 'default' } })
  expect(changed).toMatchObject({ name: 'Ada', description: '', resourcePolicy: 'default' })
  const lead = await manager.addUser('lead@example.org', 'domain_admin')
  const body = { resourcePolicy: 'course' }
  expect(await codeOf(lead.api.updateUser({ params, body }))).toBe('forbidden')
  expect(await lead.api.updateUser({ params, body: { description: 'By the lead' } })).toMatchObject({
    description: 'By the lead',
  })
})
