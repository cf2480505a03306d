import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { type Part } from './test-parts.ts'

const run = promisify(execFile)

/** Beginnings of paths of tests (below `test/`), and the folders that they look at. Of folders in each other the inner one counts. */
export const WATCHERS: readonly (readonly [tests: readonly string[], folders: readonly string[]])[] = [
  [['integration/http/api.test', 'integration/sessions/sessions.test'], ['manager/']],
  [['integration/http/'], ['manager/contract/', 'manager/events/', 'manager/http/', 'manager/wiring/']],
  [
    ['integration/users/'],
    ['manager/audit/', 'manager/grants/', 'manager/mail/', 'manager/secrets/', 'manager/sso/', 'manager/users/'],
  ],
  [['integration/sessions/'], ['manager/sessions/', 'manager/tasks/']],
  [['integration/scheduler/'], ['manager/quotas/', 'manager/scheduler/', 'manager/usage/']],
  [['integration/agents/'], ['manager/agent-link/', 'manager/agents/', 'manager/stats/']],
  [['integration/files/'], ['manager/files/', 'manager/storage/', 'manager/uploads/']],
  [['integration/images/'], ['manager/images/', 'manager/registries/']],
  [
    ['integration/operation/'],
    [
      'manager/backup/',
      'manager/certificates/',
      'manager/diagnostics/',
      'manager/operation/',
      'manager/settings/',
      'manager/store/',
    ],
  ],
  [['integration/cluster/'], ['manager/cluster/']],
  [['integration/sftp/'], ['manager/sftp/', 'proxy/sftp/']],
  [['integration/tunnels/'], ['manager/tunnel-end/', 'manager/tunnels/', 'proxy/dial/', 'proxy/listeners/']],
  [['integration/proxy/'], ['proxy/']],
  [['integration/cli/'], ['cli/']],
  [['integration/mcp/'], ['manager/mcp/', 'cli/mcp/']],
  [['engine/main-journey', 'engine/agent.test'], ['agent/']],
  [['engine/agent-gpu', 'engine/gpu-probe', 'engine/device-modes'], ['agent/gpu/']],
  [['engine/host-faults'], ['agent/faults/']],
  [['engine/images-engine'], ['agent/images/']],
  [['engine/agent-limits'], ['agent/limits/']],
  [['engine/networks-ahead', 'engine/firewall'], ['agent/network/']],
  [['engine/folders', 'engine/folder-quota', 'engine/live-folders'], ['agent/storage/']],
  [['engine/toolbox'], ['agent/toolbox/']],
  [['engine/tunnel-container'], ['agent/tunnel/']],
  [['e2e/console-page', 'e2e/console-shell'], ['renderer/']],
  [['e2e/console-account'], ['renderer/data/account/', 'renderer/features/account/']],
  [['e2e/console-admin'], ['renderer/features/admin/']],
  [['e2e/console-explorer'], ['renderer/data/files/', 'renderer/features/files/explorer/']],
  [['e2e/console-folders'], ['renderer/data/folders/', 'renderer/features/folders/']],
  [['e2e/console-launch'], ['renderer/data/launch/', 'renderer/features/launch/']],
  [['e2e/console-preview'], ['renderer/features/files/preview/']],
  [['e2e/console-project'], ['renderer/data/project/', 'renderer/features/project/']],
  [['e2e/console-sharing'], ['renderer/features/sharing/']],
  [['e2e/console-summary'], ['renderer/features/summary/']],
  [['e2e/console-session'], ['renderer/data/sessions/', 'renderer/features/sessions/']],
  [['e2e/console-uploads'], ['renderer/features/files/transfers/']],
  [['e2e/console-languages'], ['renderer/words/']],
  [['desktop/windows'], ['electron/']],
]

function watchersOf(path: string): readonly string[] {
  const rows = WATCHERS.flatMap(([tests, folders]) => folders.map(folder => ({ folder, tests })))
  const around = rows.filter(({ folder }) => path.startsWith(folder))
  return around.toSorted((a, b) => b.folder.length - a.folder.length)[0]?.tests ?? []
}

/**
 * Tests to run after these files have changed: for `lint` and `unit` the files themselves, else beginnings of paths of the part's tests.
 * A part without an entry has nothing to do.
 *
 * @param changed paths from the root; deleted files are among them
 * @param isThere whether a file still exists
 */
export function planOf(changed: readonly string[], isThere: (path: string) => boolean): Map<Part, readonly string[]> {
  const code = changed.filter(path => /\.(ts|mjs|vue)$/.test(path))
  const left = code.filter(isThere)
  const plan = new Map<Part, readonly string[]>()
  if (code.length > 0) plan.set('typecheck', [])
  if (left.length > 0) plan.set('lint', left)
  const own = left.filter(path => !path.startsWith('test/'))
  if (own.length > 0) plan.set('unit', own)
  const tests = changed.flatMap(path => {
    if (/^test\/.*\.test\.ts$/.test(path)) return isThere(path) ? [path] : []
    const watching = path.endsWith('.test.ts') ? [] : watchersOf(path)
    return watching.map(name => `test/${name}`)
  })
  for (const name of new Set(tests)) {
    const part = partOf(name)
    if (part !== undefined) plan.set(part, [...(plan.get(part) ?? []), name])
  }
  return plan
}

function partOf(test: string): Part | undefined {
  if (test.startsWith('test/e2e/console-')) return 'console'
  return (['integration', 'engine', 'e2e', 'desktop'] as const).find(part => test.startsWith(`test/${part}/`))
}

/**
 * Paths of the files that differ from where this branch left `ref`, with those that git does not know yet.
 *
 * @throws Error if git does not know `ref`
 */
export async function changedSince(ref: string, root: string): Promise<string[]> {
  const git = async (...args: string[]) => {
    const { stdout } = await run('git', args, { cwd: root, maxBuffer: 64 * 2 ** 20 })
    return stdout.split('\0').filter(line => line !== '')
  }
  const base = await run('git', ['merge-base', ref, 'HEAD'], { cwd: root }).catch(() => {
    throw new Error(`git knows no ${ref}; --since takes a branch, a tag or a commit`)
  })
  const changed = await git('diff', '--name-only', '-z', base.stdout.trim())
  const unknown = await git('ls-files', '--others', '--exclude-standard', '-z')
  return [...new Set([...changed, ...unknown])]
}

/** Tests to run for all that has changed since `ref`. */
export const planSince = async (ref: string, root: string): Promise<Map<Part, readonly string[]>> =>
  planOf(await changedSince(ref, root), path => existsSync(join(root, path)))
