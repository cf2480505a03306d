import en from '../../words/en/endpoint.ts'
import { defineWords } from '../../words/i18n.ts'

export const t = defineWords('endpoint', en)
