import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { because } from '#manager/contract'
import { type DesktopWarning } from '#proxy/contract'
import { openSettingsFile, type SettingsFile } from '../settings/settings-file.ts'
import { createWarnings } from './warnings.ts'

let dir: string
let settings: SettingsFile
beforeEach(async () => {
  dir = await mkdtemp(path.join(tmpdir(), 'berth-test-warnings-'))
})
afterEach(async () => {
  await settings.saved()
  await rm(dir, { recursive: true })
})

const NOT_KEPT: DesktopWarning = { kind: 'sign_in_not_kept', why: 'no Secret Service' }
const partly = (reason: ReturnType<typeof because>): DesktopWarning => ({ kind: 'partly_isolated', reason })
const log = { warn: () => undefined }

/** The warnings at one start of the app with these settings. */
async function aStart() {
  settings = await openSettingsFile(path.join(dir, 'desktop.json'))
  const warnings = createWarnings({ settings, log })
  const heard: string[][] = []
  warnings.follow(open => heard.push(open.map(({ kind }) => kind)))
  return { warnings, heard }
}

test('a warning is open until the user closes it, and pages hear of both', async () => {
  const { warnings, heard } = await aStart()
  warnings.add(NOT_KEPT)
  warnings.add(partly(because('firewall_not_set_up')))
  warnings.add({ ...NOT_KEPT, why: 'locked' })
  expect(warnings.open).toEqual([partly(because('firewall_not_set_up')), { ...NOT_KEPT, why: 'locked' }])
  warnings.close('partly_isolated')
  warnings.close('partly_isolated')
  expect(heard.at(-1)).toEqual(['sign_in_not_kept'])
  expect(heard).toHaveLength(4)
})

test('a closed warning stays closed in this run and in the next one, until its cause has gone and is back', async () => {
  const first = await aStart()
  first.warnings.add(NOT_KEPT)
  first.warnings.close('sign_in_not_kept')
  first.warnings.add({ ...NOT_KEPT, why: 'told in other words' })
  expect(first.warnings.open).toEqual([])
  await settings.saved()

  const second = await aStart()
  second.warnings.add(NOT_KEPT)
  expect(second.warnings.open).toEqual([])
  second.warnings.remove('sign_in_not_kept')
  second.warnings.add(NOT_KEPT)
  expect(second.warnings.open).toEqual([NOT_KEPT])
})

test('another cause of partial isolation is told although the first one was closed', async () => {
  const { warnings } = await aStart()
  const chains = (names: string) => partly(because('firewall_chains_missing', { chains: names }))
  warnings.add(chains('INPUT'))
  warnings.close('partly_isolated')
  warnings.add(chains('FORWARD, INPUT'))
  expect(warnings.open).toEqual([])
  warnings.add(partly(because('iptables_not_installed')))
  expect(warnings.open).toEqual([partly(because('iptables_not_installed'))])
})

test('a warning whose cause has gone is taken away', async () => {
  const { warnings, heard } = await aStart()
  warnings.remove('sign_in_not_kept')
  expect(heard).toEqual([])
  warnings.add(NOT_KEPT)
  warnings.remove('sign_in_not_kept')
  expect(warnings.open).toEqual([])
  expect(heard).toEqual([['sign_in_not_kept'], []])
})
