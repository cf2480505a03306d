import { HighlightStyle } from '@codemirror/language'
import { tags } from '@lezer/highlight'

/** Colours of code on dark surfaces, with a contrast of at least 4.5 to 1. */
export const darkHighlight = HighlightStyle.define([
  { tag: [tags.keyword, tags.operatorKeyword, tags.modifier], color: '#c9a0ff' },
  { tag: [tags.string, tags.special(tags.string), tags.regexp], color: '#a5d6a7' },
  { tag: [tags.number, tags.bool, tags.null, tags.atom], color: '#ffcc80' },
  { tag: [tags.comment, tags.meta], color: '#9aaab4', fontStyle: 'italic' },
  { tag: [tags.definition(tags.variableName), tags.function(tags.variableName)], color: '#80d8ff' },
  { tag: [tags.typeName, tags.className, tags.namespace, tags.tagName], color: '#80e0d0' },
  { tag: [tags.propertyName, tags.attributeName], color: '#b0d4ff' },
  { tag: tags.heading, fontWeight: 'bold' },
  { tag: tags.link, textDecoration: 'underline' },
  { tag: tags.invalid, color: '#ff9a9a' },
])
