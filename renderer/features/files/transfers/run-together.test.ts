import { expect, test } from 'vitest'
import { AppError, type FolderId } from '#manager/contract'
import { runTogether, type TogetherDeps } from './run-together.ts'
import { type Batch, type TransferItem } from './transfer-item.ts'
import { type BundledResult, type BundleSpec } from './upload-bundle.ts'

const batch: Batch = { folderId: 'f' as FolderId, onConflict: null, asking: Promise.resolve(null) }
const itemOf = (id: number, content: string | null): TransferItem => ({
  id,
  batch,
  path: `f${id}`,
  source: {
    path: `f${id}`,
    open: () => (content === null ? Promise.reject(new Error('gone')) : Promise.resolve(new File([content], 'f'))),
  },
  size: 0,
  sent: 0,
  status: 'running',
  error: null,
  onConflict: 'fail',
  address: null,
  running: null,
  isSingle: false,
  again: false,
  group: null,
})

function setUp(send: (spec: BundleSpec) => Promise<BundledResult[]>) {
  const refusals: [number, string][] = []
  const sent: BundleSpec[] = []
  const deps: TogetherDeps = {
    hash: () => Promise.resolve('0'.repeat(64)),
    headers: () => ({}),
    onChange: () => undefined,
    onFree: () => undefined,
    onDone: item => void (item.status = 'done'),
    refused(item, error) {
      item.status = 'failed'
      refusals.push([item.id, (error as AppError).code])
      return Promise.resolve()
    },
    send(spec) {
      sent.push(spec)
      return send(spec)
    },
  }
  return { deps, refusals, sent }
}
const arrived = ({ files }: BundleSpec) => Promise.resolve(files.map(({ header }) => ({ path: header.path })))

test('small files go in one request; large ones go back to the queue, unreadable ones fail', async () => {
  const group = [itemOf(1, 'a'), itemOf(2, 'x'.repeat(2 ** 20 + 1)), itemOf(3, null), itemOf(4, 'd')]
  const { deps, refusals, sent } = setUp(arrived)
  await runTogether(group, deps)
  expect(sent.map(({ files }) => files.map(({ header }) => header.path))).toEqual([['f1', 'f4']])
  expect(group.map(({ status, isSingle }) => [status, isSingle])).toEqual([
    ['done', false],
    ['queued', true],
    ['failed', false],
    ['done', false],
  ])
  expect(refusals).toEqual([[3, 'file_not_found']])
})

test('each file has its own result', async () => {
  const group = [itemOf(1, 'a'), itemOf(2, 'b')]
  const { deps, refusals } = setUp(() => Promise.resolve([{ error: new AppError('file_exists') }, { path: 'f2' }]))
  await runTogether(group, deps)
  expect(refusals).toEqual([[1, 'file_exists']])
  expect(group[1]?.status).toBe('done')
})

test('a lost answer is followed by the same files, which say so', async () => {
  const group = [itemOf(1, 'a'), itemOf(2, 'b')]
  let failures = 2
  const { deps, sent } = setUp(spec => (failures-- > 0 ? Promise.reject(new AppError('unavailable')) : arrived(spec)))
  const waits: [number, string | undefined][] = []
  const wait = (ms: number) => {
    waits.push([ms, group[0]?.status])
    return Promise.resolve()
  }
  await runTogether(group, { ...deps, wait })
  expect(waits).toEqual([
    [1_000, 'waiting'],
    [2_000, 'waiting'],
  ])
  expect(sent.map(({ files }) => files[0]?.header.again)).toEqual([false, true, true])
  expect(group.map(({ status }) => status)).toEqual(['done', 'done'])
})

test('an error of the request concerns all its files', async () => {
  const group = [itemOf(1, 'a'), itemOf(2, 'b')]
  const { deps, refusals } = setUp(() => Promise.reject(new AppError('forbidden')))
  await runTogether(group, deps)
  expect(refusals).toEqual([
    [1, 'forbidden'],
    [2, 'forbidden'],
  ])
})

test('pausing one file ends the request, and the others wait for the next', async () => {
  const group = [itemOf(1, 'a'), itemOf(2, 'b')]
  const { deps } = setUp(
    ({ signal }) =>
      new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason as Error))),
  )
  const done = runTogether(group, deps)
  await expect.poll(() => group[0]?.running).not.toBeNull()
  await new Promise(resolve => setTimeout(resolve))
  const [first] = group
  if (first) first.status = 'paused'
  await first?.running?.stop()
  await done
  expect(group.map(({ status }) => status)).toEqual(['paused', 'queued'])
})
