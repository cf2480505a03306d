import { h, type FunctionalComponent, type VNodeChild } from 'vue'
import { visibleMarks } from './visible-marks.ts'

const MARKED = /<([a-zA-Z]+)>(.*?)<\/\1>/g
const ELEMENTS: Readonly<Record<string, string>> = { b: 'strong', code: 'code' }

/**
 * A text with marked parts, so that a sentence with a link stays one message: `<b>…</b>` and `<code>…</code>` become elements, and any
 * other `<name>…</name>` is passed to the slot `name` as `text`. These marks are the only markup: a text is never parsed as HTML.
 */
const RichText: FunctionalComponent<{ text: string }> = ({ text }, { slots }) => {
  const shown = visibleMarks(text)
  const parts: VNodeChild[] = []
  let end = 0
  for (const { 0: whole, 1: name = '', 2: inner = '', index } of shown.matchAll(MARKED)) {
    parts.push(shown.slice(end, index), slots[name]?.({ text: inner }) ?? h(ELEMENTS[name] ?? 'span', inner))
    end = index + whole.length
  }
  return [...parts, shown.slice(end)]
}
RichText.props = ['text']

export default RichText
