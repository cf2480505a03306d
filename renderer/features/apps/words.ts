import en from '../../words/en/apps.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('apps', en)
