import { execFileSync } from 'node:child_process'
import { globSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from './image-recipes.ts'
import { changedSince, planOf, WATCHERS } from './test-since.ts'

const plan = (...changed: string[]) => Object.fromEntries(planOf(changed, path => !path.includes('deleted')))

test('changed code is linted, its unit tests follow its imports, and a map names tests of a whole Berth', () => {
  expect(plan('manager/scheduler/plan.ts', 'renderer/features/admin/AdminPage.vue')).toEqual({
    typecheck: [],
    lint: ['manager/scheduler/plan.ts', 'renderer/features/admin/AdminPage.vue'],
    unit: ['manager/scheduler/plan.ts', 'renderer/features/admin/AdminPage.vue'],
    integration: ['test/integration/scheduler/'],
    console: ['test/e2e/console-admin'],
  })
})

test('a changed test runs itself; a deleted file is only looked for by types', () => {
  expect(plan('test/e2e/main-journey.test.ts')).toEqual({
    typecheck: [],
    lint: ['test/e2e/main-journey.test.ts'],
    e2e: ['test/e2e/main-journey.test.ts'],
  })
  expect(plan('manager/deleted.test.ts')).toEqual({ typecheck: [] })
  expect(plan('docs/api.md')).toEqual({})
})

test('the map names folders and tests that exist, and every folder of manager, proxy and agent', () => {
  for (const [tests, watched] of WATCHERS) {
    for (const folder of watched) expect(globSync(`${folder}*`, { cwd: ROOT }), folder).not.toEqual([])
    for (const name of tests) expect(globSync(`test/${name}*`, { cwd: ROOT }), name).not.toEqual([])
  }
  const folders = ['manager', 'proxy', 'agent'].flatMap(side =>
    readdirSync(join(ROOT, side), { withFileTypes: true }).flatMap(entry =>
      entry.isDirectory() ? [`${side}/${entry.name}/`] : [],
    ),
  )
  const unwatched = folders.filter(
    folder => !WATCHERS.some(([, watched]) => watched.some(one => folder.startsWith(one))),
  )
  expect(unwatched).toEqual([])
})

test('what a branch changed, with files that git does not know, and nothing that came to the other branch meanwhile', async () => {
  const root = mkdtempSync(join(tmpdir(), 'berth-test-since-'))
  const git = (...args: string[]) =>
    execFileSync('git', ['-c', 'user.name=a', '-c', 'user.email=a@b.c', ...args], { cwd: root, stdio: 'ignore' })
  const commit = (name: string) => {
    writeFileSync(join(root, name), name)
    git('add', '-A')
    git('commit', '-m', name)
  }
  try {
    git('init', '-b', 'main')
    commit('first.ts')
    git('checkout', '-b', 'mine')
    commit('mine.ts')
    git('checkout', 'main')
    commit('theirs.ts')
    git('checkout', 'mine')
    writeFileSync(join(root, 'first.ts'), 'changed')
    writeFileSync(join(root, 'new ü.ts'), '')
    expect((await changedSince('main', root)).toSorted()).toEqual(['first.ts', 'mine.ts', 'new ü.ts'])
    await expect(changedSince('nowhere', root)).rejects.toThrow('git knows no nowhere')
  } finally {
    rmSync(root, { recursive: true })
  }
})
