import type en from '../en/shortcuts.ts'
import { type Translation } from '../message-types.ts'

export default {
  everywhere: '모든 화면',
  showSheet: '이 도움말 표시',
  closeThings: '대화 상자, 메뉴 또는 세션의 세부 정보 닫기',
  searchKey: '검색',
  moveRow: '위아래 행의 같은 항목으로 이동',
  selectBetween: '두 세션 사이의 세션 모두 선택',
  filesKeys: '파일',
  singleKeys: '단일 키 ?, /, n 사용',
} satisfies Translation<typeof en>
