import { expect, test } from 'vitest'
import {
  advancePull,
  finishPull,
  type PullLine,
  pullFailure,
  type PullState,
  summarizePull,
  volumesOf,
} from './pull.ts'

// As printed by Docker 20.10 for a pull of two layers.
const LINES: PullLine[] = [
  { status: 'Pulling from library/demo', id: '1.0' },
  { status: 'Pulling fs layer', progressDetail: {}, id: 'aaa' },
  { status: 'Already exists', progressDetail: {}, id: 'bbb' },
  { status: 'Downloading', progressDetail: { current: 500, total: 2000 }, id: 'aaa' },
  { status: 'Download complete', progressDetail: {}, id: 'aaa' },
  { status: 'Extracting', progressDetail: { current: 100, total: 2000 }, id: 'aaa' },
  { status: 'Pull complete', progressDetail: {}, id: 'aaa' },
  { status: 'Digest: sha256:123' },
]
const after = (count: number) =>
  summarizePull(LINES.slice(0, count).reduce<PullState>((state, line) => advancePull(state, line), new Map()))

test('the progress of a pull counts layers and bytes, and never goes back when a layer is unpacked', () => {
  expect(after(4)).toMatchObject({ layersDone: 1, layersTotal: 2, bytesDone: 500, bytesTotal: 2000 })
  expect(after(6)).toMatchObject({ layersDone: 1, bytesDone: 2000 })
  expect(after(6).layers[0]).toMatchObject({ id: 'aaa', status: 'Extracting', unpacked: 100 })
  expect(after(8)).toMatchObject({ layersDone: 2, layersTotal: 2, bytesDone: 2000, bytesTotal: 2000 })
})

test('a successful pull has all its layers, whatever the engine reported last', () => {
  // As Docker 26 prints it with containerd's image store.
  const lines: PullLine[] = [
    { status: 'Pulling from lab/demo', id: '1' },
    { status: 'Pulling fs layer', progressDetail: {}, id: 'aaa' },
    { status: 'Downloading', progressDetail: { current: 7, total: 32 }, id: 'aaa' },
    { status: 'Download complete', progressDetail: {}, id: 'aaa' },
    { status: 'Digest: sha256:123' },
  ]
  const state = lines.reduce<PullState>((before, line) => advancePull(before, line), new Map())
  expect(summarizePull(state)).toMatchObject({ layersDone: 0, bytesDone: 32 })
  expect(summarizePull(finishPull(state))).toMatchObject({ layersDone: 1, layersTotal: 1, bytesDone: 32 })
})

test('volumes of an image are absolute paths, each once; most images declare none', () => {
  expect(volumesOf({ Volumes: { '/data/': {}, data: {}, '/srv/../home/work/kept': {}, '/': {} } })).toEqual([
    '/',
    '/data',
    '/home/work/kept',
  ])
  expect([volumesOf({ Volumes: null }), volumesOf({})]).toEqual([[], []])
})

test('a pull that fails for the disk of the engine says so, however the engine tells; other failures keep the words of the registry', () => {
  const text = 'failed to register layer: write /x: no space left on device'
  for (const told of [text, new Error(`(HTTP code 500) server error - ${text} `)])
    expect(pullFailure(told, 'demo:1')).toMatchObject({ code: 'disk_full', detail: { cause: 'docker_disk_full' } })
  expect(pullFailure('manifest unknown', 'demo:1')).toMatchObject({
    code: 'image_not_found',
    detail: { cause: 'docker_says', why: 'manifest unknown', reference: 'demo:1' },
  })
})
