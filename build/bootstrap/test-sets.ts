import { createHash } from 'node:crypto'
import { matchesGlob } from 'node:path'

/**
 * `change` is what `npm test` runs, to protect every change; `all` is what `npm run test:all` runs, before a release and after a change of
 * what only its tests look at.
 */
export type TestSet = 'change' | 'all'

/** Variable with the set that vitest is to run. Without it all tests run, so that any file can be run by its name. */
const VARIABLE = 'BERTH_TESTS'

export const testSet = (environment: NodeJS.ProcessEnv): TestSet =>
  environment[VARIABLE] === 'change' ? 'change' : 'all'
export const withTestSet = (set: TestSet): NodeJS.ProcessEnv => ({ [VARIABLE]: set })

/** The cases of a test in this process: all of them in `all`, the first one and every nth after it in `change`. */
export const casesOf = <Case>(cases: readonly Case[], every: number): readonly Case[] =>
  testSet(process.env) === 'all' ? cases : cases.filter((_, index) => index % every === 0)

/**
 * The way, of several, in which something of this name is tested: always the same one, so that a test that fails and runs again, alone or
 * after other tests, meets the same fault.
 */
export const wayOf = <Way>(name: string, ways: readonly Way[]): readonly Way[] => {
  const turn = createHash('sha256').update(name).digest().readUInt32BE() % ways.length
  return ways.slice(turn, turn + 1)
}

interface Left {
  /** Glob from the root. */
  readonly files: string
  /** Why a change is safe enough without them. */
  readonly why: string
}

/**
 * Files that only `all` contains. Besides them: the fuzzer (`test-parts.ts`), seven of eight scenes of the console and most looks at the
 * other ones (`test/e2e/look-at.ts`), three of four pages in each language (`console-languages.test.ts`), every other
 * dialog by its URL (`console-addresses.test.ts`), two of three ends of a right during each request (`lasting-rights.test.ts`), and the longer races, further
 * sizes, clients and moments of kills, in tests that ask for `casesOf` or `testSet`. A file goes here if it takes long, and if another file
 * would fail too on most mistakes that it finds.
 */
export const ONLY_IN_ALL: readonly Left[] = [
  {
    files: 'test/integration/hostile/{agent,app-origin,raw-tunnel,sign-in-floods,slow-peers}.test.ts',
    why: 'attackers at the manager and at the console stay; reports, app origins and sign-ins have tests beside their code',
  },
  {
    files: 'test/integration/cluster/{diagnoses,interruptions,managers-takeover}.test.ts',
    why: 'kill managers with the timings of production, or in rare moments; managers.test.ts has short kills',
  },
  {
    files: 'test/integration/cluster/{growing,two-head-nodes}.test.ts',
    why: 'follow pages of the guide with whole servers, one with a real Slurm; managers.test.ts has two managers, stand-in.test.ts Slurm',
  },
  {
    files: 'test/integration/agents/agents-return.test.ts',
    why: 'waits for agents to be lost, forty at once; agents-control and reconciliation have the return of one',
  },
  {
    files: 'test/integration/allocators/{situations,slurm,slurm-chaos}.test.ts',
    why: 'a real Slurm, for minutes; stand-in.test.ts has the same manager with recorded answers',
  },
  {
    files: 'test/integration/proxy/network.test.ts',
    why: 'proxies of companies; their rules have tests beside the code',
  },
  {
    files: 'test/integration/tunnels/tunnel-processes.test.ts',
    why: 'tunnels through processes of their own; tunnel.test.ts has the same tunnels in one',
  },
  {
    files: 'test/integration/cli/{foreign-listener,held-ports,system-certificates}.test.ts',
    why: 'whole servers and agents that are killed and started again; servers.test.ts starts and ends them once',
  },
  {
    files: 'test/integration/users/master-key.test.ts',
    why: 'starts many managers for one rare step of administration; the key has tests beside its code',
  },
  {
    files: 'test/integration/operation/{restore-drill,restore-owner}.test.ts',
    why: 'the page of the restore line by line; restore.test.ts has the restore',
  },
  {
    files:
      'test/integration/operation/{database-faults,database-failover,database-failover-managers,database-patroni}.test.ts',
    why: 'waits for databases that hang or fail over; servers-end.test.ts has one, database-primary.test.ts the choice of a server',
  },
  {
    files: 'test/integration/http/openapi-clients.test.ts',
    why: 'runs generators of others and compiles their clients; openapi.test.ts reads the description',
  },
  {
    files: 'test/integration/files/uploads-kill.test.ts',
    why: 'kills a server throughout an upload; the other tests of uploads go on after an interruption',
  },
  {
    files: 'test/engine/{managers-docker,three-engines}.test.ts',
    why: 'kill managers, and one of three engines; agent-crash.test.ts kills agents',
  },
  {
    files: 'test/engine/{agent-elsewhere,agent-replace-apps,ssh-unreached,toolbox-fill}.test.ts',
    why: 'rare faults of a host; agent, agent-replace, ssh-client and toolbox have the usual ways',
  },
  {
    files: 'test/engine/{add-host,add-host-systemd,host-by-hand}.test.ts',
    why: 'installs packages in a fresh Debian, once with a real systemd; line, script, bundle and routes have tests beside their code, agents-cli.test.ts a join',
  },
  {
    files:
      'test/engine/{images-between-agents,images-between-stores,multi-host,multi-host-crash,multi-host-many,multi-host-mpi}.test.ts',
    why: 'three engines each; take-image.test.ts and integration/sessions/multi-host.test.ts have the same with stand-ins for them',
  },
  {
    files: 'test/engine/shared-file-system.test.ts',
    why: 'a real GlusterFS, two engines and time limits of mounts; hung-storage and storage.test.ts have mounts that hang or are away',
  },
  {
    files: 'test/e2e/{elsewhere-journey,files-journey}.test.ts',
    why: 'a whole Berth each; main-journey and folders-journey have the same pages, integration/proxy the addresses, integration/files the uploads',
  },
  {
    files: 'test/e2e/console-{load,storm}.test.ts',
    why: 'measure what moves while a page loads, and storms of events; console-page loads the page, console-sessions-live has events',
  },
  {
    files: 'test/e2e/{account-journey,admin-engines,admin-journey}.test.ts',
    why: 'a whole Berth each; console-sign-in, console-account and console-admin have the pages, integration/users, /scheduler and engine/ what they ask for, main-journey both together',
  },
  {
    files: 'test/engine/{managers-unreached,restore-adopts}.test.ts',
    why: 'whole Berths on engines of their own; managers.test.ts kills managers, restore.test.ts restores',
  },
  {
    files: 'test/integration/cli/no-user-entry.test.ts',
    why: 'a user without an entry in /etc/passwd is rare; directories.test.ts has the decision',
  },
  {
    files: 'test/engine/many-starts.test.ts',
    why: 'fills a host; the other tests start sessions one by one',
  },
  {
    files: 'test/desktop/{files,network,sso,start-window,starts,this-computer,tray}.test.ts',
    why: 'windows.test.ts stays: the app starts, shows its pages and survives crashes of them',
  },
]

/** Patterns for vitest to leave out. */
export const leftOut = (set: TestSet): string[] => (set === 'all' ? [] : ONLY_IN_ALL.map(({ files }) => files))

/** The set for a narrowed run: one that names a test of `all` would find no file in `change`. @param named tests, by their paths from the root */
export const setFor = (set: TestSet, named: readonly string[]): TestSet =>
  named.some(path => ONLY_IN_ALL.some(({ files }) => matchesGlob(path, files))) ? 'all' : set
