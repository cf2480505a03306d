// @vitest-environment happy-dom
import { expect, onTestFinished, test } from 'vitest'
import { createApp, h } from 'vue'
import EmptyState from './EmptyState.vue'
import GaugeBar from './GaugeBar.vue'
import RichText from './RichText.ts'
import { visibleMarks } from './visible-marks.ts'

const HOSTILE = '\u202egpj.exe\u2066\u200e.txt'
const VISIBLE = '\ufffdgpj.exe\ufffd\ufffd.txt'

test('marks that turn the direction of writing become visible; other texts and values stay', () => {
  expect(visibleMarks(HOSTILE)).toBe(VISIBLE)
  expect(visibleMarks('파일 שלום\n한글 e\u0301')).toBe('파일 שלום\n한글 e\u0301')
  expect([visibleMarks(undefined), visibleMarks(0), visibleMarks(null)]).toEqual([undefined, 0, null])
})

test('components show the marks of names in texts and attributes, without a call of their own', () => {
  const app = createApp({
    render: () => [
      h(EmptyState, { icon: '', title: HOSTILE, text: HOSTILE }),
      h(GaugeBar, { label: HOSTILE, text: HOSTILE, hint: HOSTILE, fraction: null }),
      h(RichText, { text: `in <b>${HOSTILE}</b>` }),
    ],
  })
  const body = document.body.appendChild(document.createElement('div'))
  onTestFinished(() => {
    app.unmount()
    body.remove()
  })
  app.component('VIcon', { render: () => null })
  app.mount(body)
  expect(body.innerHTML).not.toMatch(/[\u200e\u202a-\u202e\u2066-\u2069]/)
  expect(body.innerHTML.split(VISIBLE)).toHaveLength(7)
})
