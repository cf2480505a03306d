import { expect, test } from 'vitest'
import { type FileState } from '../storage/file-state.ts'
import { FilledPart } from './filled-part.ts'

test('bytes count as new beyond the end of a file, anywhere in one with holes, and again after others have shortened it', async () => {
  let time = 0
  let looks = 0
  let [size, allocated] = [1_000, 1_024]
  const state = () => {
    looks++
    return Promise.resolve({ size, allocated } as FileState)
  }
  const part = new FilledPart(() => time)
  const newBytes = (start: number, bytes: number) => part.newBytes({ state }, start, bytes)
  expect(await newBytes(0, 1_000)).toBe(0)
  expect(await newBytes(900, 300)).toBe(200)
  expect(await newBytes(5_000, 300)).toBe(300)
  part.written(900, 300)
  part.written(5_000, 300)
  expect(await newBytes(900, 400)).toBe(100)
  expect(looks).toBe(1)
  time = 1_000
  size = 500
  expect(await newBytes(0, 1_000)).toBe(500)
  time = 2_000
  ;[size, allocated] = [1_000, 512]
  expect(await newBytes(0, 1_000)).toBe(1_000)
  expect(looks).toBe(3)
})

test('a new file is known to have no bytes', async () => {
  let looks = 0
  const part = new FilledPart(() => 0)
  part.isEmpty()
  const state = () => Promise.resolve({ size: 100, allocated: ++looks * 512 } as FileState)
  expect(await part.newBytes({ state }, 0, 50)).toBe(50)
  part.written(0, 50)
  expect(await part.newBytes({ state }, 20, 50)).toBe(20)
  expect(looks).toBe(0)
})
