import type en from '../en/labels.ts'
import { type Translation } from '../message-types.ts'

export default {
  share: '공유…',
  ssh: 'SSH와 SFTP…',
  copyId: 'ID 복사',
  idCopied: '세션의 ID를 복사했습니다.',
  tags: '태그',
  tagsHint: '공백으로 구분합니다. 예: thesis run/3',
  note: '메모',
  labels: '태그와 메모',
  noTags: '태그 없음',
  noNote: '메모 없음',
  edit: '편집',
  editLabels: '태그와 메모 편집',
  tagFault: '태그는 글자와 숫자 32자까지이며, 중간에 - _ . / : 를 쓸 수 있습니다',
  tooManyTags: '태그는 {count}개까지 지정할 수 있습니다',
  noteFault: '{count, number}자까지 입력할 수 있습니다',
  sharedLive:
    '<b>{owner} 님이 이 세션의 사용을 허락했습니다.</b> 세션 안에서는 소유자로 작업하며, 변경한 파일은 소유자의 것입니다. 소유자와 관리자만 종료할 수 있습니다.',
  sharedView: '<b>{owner} 님이 이 세션의 보기를 허용했습니다.</b> 타임라인, 차트, 로그, 세부 정보를 볼 수 있습니다.',
  leave: '나가기',
  leaveHint: '내 목록에서 이 세션을 제거합니다',
} satisfies Translation<typeof en>
