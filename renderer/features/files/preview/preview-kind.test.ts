import { describe, expect, test } from 'vitest'
import { mediaType, previewKind } from './preview-kind.ts'

describe('previews', () => {
  test.each([
    ['a.md', 'markdown'],
    ['A.PNG', 'image'],
    ['drawing.svg', 'image'],
    ['run.ipynb', 'notebook'],
    ['a.tsv', 'table'],
    ['a.py', 'text'],
    ['page.html', 'text'],
    ['LICENSE', 'text'],
    ['a.tar.gz', 'none'],
  ])('the preview of %s is of the kind %s', (name, kind) => {
    expect(previewKind(name)).toBe(kind)
  })

  test('a preview never has the media type of a page', () => {
    expect([mediaType('a.html'), mediaType('a.xhtml'), mediaType('a.xml')]).toEqual(
      Array.from({ length: 3 }, () => 'application/octet-stream'),
    )
  })
})
