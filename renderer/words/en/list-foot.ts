import { defineWords } from '../i18n.ts'

const en = {
  searchedPart: 'Searched: the newest {held, number} of {total, number}',
  shownPart: 'Shown: the newest {held, number} of {total, number}',
  loadMore: 'Load more',
} as const

export default en
export const t = defineWords('list-foot', en)
