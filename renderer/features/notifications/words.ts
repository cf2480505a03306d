import en from '../../words/en/notices.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('notices', en)
