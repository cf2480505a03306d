import { expect, test } from 'vitest'
import { createCli, outcomeOf } from '../fixtures/cli.ts'

test('a server that is started alone says in words what is wrong with its configuration', async () => {
  await using cli = await createCli()
  const manager = await outcomeOf(cli.start(['manager'], { BERTH_PORT: '70000' }))
  expect(manager).toMatchObject({ code: 2, out: '' })
  expect(manager.err).toMatch(/^berth: The configuration is not valid: BERTH_PORT: .+ \(config_invalid\)\n$/)
})

test('a server that is started alone needs no BERTH_DATA', async () => {
  await using cli = await createCli()
  expect(await cli.run(['agent', '--join', 'berth-join'])).toEqual({
    code: 2,
    out: '',
    err: 'berth: The configuration is not valid: A join string starts with "berth-join:"; the manager makes one. (config_invalid)\n',
  })
})
