import type en from '../en/selection.ts'
import { type Translation } from '../message-types.ts'

export default {
  clearSelection: '선택 해제',
  selectedCount: '{count, number}개 선택됨',
  mostLogs: '로그는 한 번에 {most}개까지',
  terminateSelected: '종료…',
} satisfies Translation<typeof en>
