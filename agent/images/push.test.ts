import { expect, test } from 'vitest'
import { advancePush, type PushState, summarizePush } from './push.ts'
import { type PullLine } from './pull.ts'

// As printed by Docker 29 for a push of three layers, of which the registry has one.
const LINES: PullLine[] = [
  { status: 'The push refers to repository [127.0.0.1:5000/lab/box]' },
  { status: 'Preparing', progressDetail: {}, id: '0123456789ab' },
  { status: 'Waiting', progressDetail: {}, id: 'aaaaaaaaaaaa' },
  { status: 'Layer already exists', progressDetail: {}, id: 'bbbbbbbbbbbb' },
  { status: 'Pushing', progressDetail: { current: 512, total: 2000 }, id: '0123456789ab' },
  { status: 'Pushing', progressDetail: { current: 2100, total: 2000 }, id: '0123456789ab' },
  { status: 'Pushed', progressDetail: {}, id: '0123456789ab' },
  { status: 'Mounted from lab/base', progressDetail: {}, id: 'aaaaaaaaaaaa' },
  { status: '1: digest: sha256:123 size: 528' },
]
const after = (count: number) =>
  summarizePush(LINES.slice(0, count).reduce<PushState>((state, line) => advancePush(state, line), new Map()))

test('the progress of a push counts layers and bytes; layers that the registry has are done without bytes', () => {
  expect(after(1)).toMatchObject({ layersTotal: 0 })
  expect(after(5)).toMatchObject({ layersDone: 1, layersTotal: 3, bytesDone: 512, bytesTotal: 2000 })
  expect(after(6)).toMatchObject({ bytesDone: 2000 })
  expect(after(9)).toMatchObject({ layersDone: 3, layersTotal: 3, bytesDone: 2000, bytesTotal: 2000 })
})
