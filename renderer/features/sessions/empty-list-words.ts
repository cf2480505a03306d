import en from '../../words/en/empty-list.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('empty-list', en)
