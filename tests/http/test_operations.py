"""The table of operations: one method of the service for each, and paths as they should be."""

from __future__ import annotations

import inspect

import pytest

from gate.http.activity_views import ActivityViews
from gate.http.catalogue_views import CatalogueViews
from gate.http.comparing import Comparing
from gate.http.document_views import DocumentViews
from gate.http.file_views import FileViews
from gate.http.index_views import IndexViews
from gate.http.judging import Judging
from gate.http.looking import Looking
from gate.http.operations import OPERATIONS, Operation
from gate.http.service import Operating

HOMES = (Judging, Looking, Comparing, DocumentViews, CatalogueViews, FileViews, IndexViews, ActivityViews, Operating)


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_an_operation_is_a_method_of_one_part_of_the_service(operation: Operation) -> None:
    [method] = [getattr(home, operation.name) for home in HOMES if hasattr(home, operation.name)]
    assert inspect.iscoroutinefunction(method)
    assert operation.summary.endswith(".")


@pytest.mark.parametrize("operation", OPERATIONS, ids=lambda operation: operation.name)
def test_what_changes_the_index_needs_another_scope_than_reading(operation: Operation) -> None:
    changes = operation.name == "check_in" or operation.method == "DELETE"
    assert (operation.scope in ("write", "delete")) == changes


def test_an_operation_without_a_token_tells_nothing_about_documents() -> None:
    assert {one.name for one in OPERATIONS if one.scope is None} == {"healthz", "readyz", "openapi"}


def test_only_a_post_has_a_body() -> None:
    assert {one.name for one in OPERATIONS if (one.body is not None or one.form) != (one.method == "POST")} == set()
