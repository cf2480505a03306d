import { expect, test } from 'vitest'
import { type Period, totalsText } from './statistics.ts'

const period = (cpuHours: number, gpuHours: number) => ({ sessions: 1, cpuHours, gpuHours }) as Period

test.each([
  ['nothing', [], 'Most at once: 0 sessions · 0 core-hours · no GPU'],
  ['very little', [period(0.004, 0.004)], 'Most at once: 1 session · < 0.01 core-hours · < 0.01 GPU-hours'],
  ['no GPU', [period(1.25, 0), period(0.5, 0)], 'Most at once: 1 session · 1.8 core-hours · no GPU'],
])('the totals of %s', (_, items, text) => expect(totalsText(items)).toBe(text))
