import en from '../../words/en/notice-bell.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('notice-bell', en)
