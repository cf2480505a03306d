import en from '../../words/en/announcement.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('announcement', en)
